function load() {
  try {
    JSON.parse('{nothing}');
  } catch (error) {
    throw new Error('cannot load', { cause: error });
  }
}
load();
