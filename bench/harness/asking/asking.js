// Asks one URL: asking.js URL BYTES, where BYTES are sent if there are any.
const [url, size] = [process.argv[2], Number(process.argv[3])];
const made = require(url.startsWith('https') ? 'https' : 'http');
const request = made.request(url, { method: size ? 'POST' : 'GET', agent: false, timeout: 30000 }, (answer) => answer.resume());
request.end(size ? 'x'.repeat(size) : undefined);
