raise ValueError("first line\nsecond line\n\twith a tab and é 日本")
