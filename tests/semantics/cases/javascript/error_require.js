require('./surely-not-there');
