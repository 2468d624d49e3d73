process.stdout.write('é', 'latin1');
process.stdout.write('68656c6c6f', 'hex');
process.stdout.write('\ud800 lone, 😀 pair, \0 null\n');
process.stdout.write('no newline');
