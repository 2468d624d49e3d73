throw 'only words';
