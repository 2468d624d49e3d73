"""Programs that print the version of what runs them, and ones that do not compile, by language."""

VERSIONS = {
    "python": "import platform; print(platform.python_version())",
    "javascript": "console.log(process.versions.node)",
    "bash": "echo ${BASH_VERSION%%(*}",
    "go": 'package main\nimport ("fmt"; "runtime")\nfunc main() { fmt.Println(runtime.Version()[2:]) }\n',
    # A Rust program does not know; the compiler does.
    "rust": 'fn main() { let v = std::process::Command::new("rustc").arg("--version").output().unwrap().stdout;'
            ' println!("{}", String::from_utf8(v).unwrap().split(" ").nth(1).unwrap()) }\n',
    "ruby": "puts RUBY_VERSION",
    "perl": 'printf "%vd\\n", $^V',
    "php": "<?php echo PHP_VERSION, \"\\n\";",
    "r": 'cat(paste(R.version$major, R.version$minor, sep="."), "\\n")',
    "lua": 'print((_VERSION:gsub("Lua ", "")))',
    "java": 'public class Hello { public static void main(String[] a) { System.out.println(Runtime.version().feature()); } }',
    "c": '#include <stdio.h>\nint main(void) { printf("%d.%d.%d\\n", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__); return 0; }\n',
    "cpp": '#include <iostream>\nint main() { std::cout << __GNUC__ << "." << __GNUC_MINOR__ << "." << __GNUC_PATCHLEVEL__ << std::endl; }\n',
}
BROKEN = {
    "c": "int main(void) { return undeclared_name; }\n",
    "cpp": "int main() { return undeclared_name; }\n",
    "go": "package main\nfunc main() { undeclared_name() }\n",
    "rust": "fn main() { undeclared_name() }\n",
    "java": "public class Hello { void f() { undeclared_name(); } }",
}

# Reads its input, prints it with its arguments, and fails.
FAILING = {
    "c": '#include <stdio.h>\nint main(int n, char** a) { char t[64]; if (!fgets(t, 64, stdin)) return 9; printf("%s %s", a[n - 1], t); return 3; }\n',
    "cpp": '#include <iostream>\nint main(int n, char** a) { std::string t; std::getline(std::cin, t); std::cout << a[n - 1] << " " << t << "\\n"; return 3; }\n',
    "go": 'package main\nimport ("bufio"; "fmt"; "os")\nfunc main() { t, _ := bufio.NewReader(os.Stdin).ReadString(10); fmt.Print(os.Args[len(os.Args)-1], " ", t); os.Exit(3) }\n',
    "rust": 'fn main() { let mut t = String::new(); std::io::stdin().read_line(&mut t).unwrap(); print!("{} {}", std::env::args().last().unwrap(), t); std::process::exit(3) }\n',
    "java": 'import java.util.*; class Hello { public static void main(String[] a) { System.out.println(a[0] + " " + new Scanner(System.in).nextLine()); System.exit(3); } }',
    "python": "import sys\nprint(sys.argv[-1], input())\nsys.exit(3)\n",
    "javascript": 'console.log(process.argv.at(-1) + " " + require("fs").readFileSync(0, "utf8").trim()); process.exit(3)\n',
    "bash": 'read -r t; echo "${!#} $t"; exit 3\n',
    "ruby": 'puts "#{ARGV[-1]} #{STDIN.gets}"; exit 3\n',
    "perl": 'print "$ARGV[-1] ", scalar <STDIN>; exit 3\n',
    "php": '<?php echo end($argv), " ", fgets(STDIN); exit(3);\n',
    "r": 'cat(commandArgs(TRUE), readLines(file("stdin"), 1)); cat("\\n"); quit(status = 3)\n',
    "lua": 'print(arg[#arg] .. " " .. io.read()); os.exit(3)\n',
}

# Ends by an error of its own, which the language tells of.
RAISING = {
    "java": 'class Hello { public static void main(String[] a) { throw new RuntimeException("went wrong"); } }',
    "python": 'raise Exception("went wrong")\n',
    "javascript": 'throw new Error("went wrong")\n',
    "ruby": 'raise "went wrong"\n',
    "perl": 'die "went wrong"\n',
    "php": '<?php throw new Exception("went wrong");\n',
    "r": 'stop("went wrong")\n',
    "lua": 'error("went wrong")\n',
}
PACKAGED = 'package a.b;\nclass Hello { public static void main(String[] a) { System.out.println("packaged"); } }\n'
