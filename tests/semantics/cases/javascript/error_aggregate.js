throw new AggregateError([new TypeError('first'), new RangeError('second')], 'all of it');
