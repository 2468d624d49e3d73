const value = null;
console.log(value.name.length);
