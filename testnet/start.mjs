// What `npm start` runs. Plain JavaScript: before `npm ci` there are no packages, and maybe no Node that reads TypeScript.
import { existsSync } from 'node:fs'

if (!existsSync(new URL('../node_modules/node', import.meta.url))) {
  console.error('devium testnet: nothing is installed here yet: run "npm ci" first')
  process.exit(1)
}
await import('./main.ts')
