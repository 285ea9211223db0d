// Entry of `npm start`. It is plain JavaScript, because before `npm ci` there are no packages, and perhaps no Node that reads
// TypeScript.
import '../bin/requireScripts.mjs'

await import('./main.ts')
