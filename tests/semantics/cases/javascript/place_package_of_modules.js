console.log(typeof require, import.meta.url.length > 0, await Promise.resolve(4));
