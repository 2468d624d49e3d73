process.stdout.write('0123456789'.repeat(300000), () => process.exit(0));
