console.log('the end');
