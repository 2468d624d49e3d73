require('fs').writeFileSync('/tmp/module.mjs', 'const x = 1;\nexport { y };\n');
import('./module.mjs');
