for (const name of Object.keys(process.env).sort()) console.log(name, JSON.stringify(process.env[name]));
