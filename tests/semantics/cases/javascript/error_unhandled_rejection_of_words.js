Promise.reject('only words');
