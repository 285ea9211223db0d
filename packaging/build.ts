// What `npm run build` runs: dist/, the JavaScript of the published package. Node does not strip types below node_modules.
import { execFileSync } from 'node:child_process'
import { cpSync, readdirSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, extname, join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '..')

rmSync(join(ROOT, 'dist'), { recursive: true, force: true })
const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc')
execFileSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], { cwd: ROOT, stdio: 'inherit' })
// What is no TypeScript the compiler leaves where it is, but JSON that is imported.
for (const folder of ['src', 'testnet']) {
  for (const name of readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })) {
    if (extname(name) === '' || /\.(ts|json|md)$|testUtils/.test(name) || name === 'start.mjs') continue
    cpSync(join(ROOT, folder, name), join(ROOT, 'dist', folder, name))
  }
}
