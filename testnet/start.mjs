// What `npm start` runs. Plain JavaScript: before `npm ci` there are no packages, and maybe no Node that reads TypeScript.
import '../bin/installedNode.mjs'

await import('./main.ts')
