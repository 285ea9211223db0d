// What `npm start` runs. Plain JavaScript: before `npm ci` there are no packages, and maybe no Node that reads TypeScript.
import '../bin/requireScripts.mjs'

await import('./main.ts')
