for (let i = 0; i < 5000; i++) process.stdout.write(String(i).padStart(9, '0') + ' ' + 'x'.repeat(989) + '\n');
