class OwnError extends Error {
  constructor(message) {
    super(message);
    this.name = 'OwnError';
    this.code = 'E_OWN';
    this.details = new Map([['a', 1]]);
  }
}
throw new OwnError('of my own\nin two lines');
