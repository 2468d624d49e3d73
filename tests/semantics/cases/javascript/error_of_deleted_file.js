require('fs').unlinkSync(__filename);
throw new Error('no file');
