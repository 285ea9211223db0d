// The programs are TypeScript run by type stripping, which needs Node 24; the machine's own Node may be older. This
// launcher (plain JavaScript, no imports beyond node:) finds the Node 24 that is installed with the package.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** Runs src/cli/<entry>.ts (dist/src/cli/<entry>.js in the published package) in this process or in a newer Node. */
export async function launch(entry) {
  const source = join(root, 'src', 'cli', `${entry}.ts`)
  const script = existsSync(source) ? source : join(root, 'dist', 'src', 'cli', `${entry}.js`)
  if (Number(process.versions.node.split('.')[0]) >= 24) {
    nodeModule.enableCompileCache?.()
    process.argv[1] = script
    await import(pathToFileURL(script).href)
    return
  }
  const require = nodeModule.createRequire(import.meta.url)
  let node
  try {
    node = join(dirname(require.resolve('node/package.json')), 'bin', 'node')
  } catch {
    console.error(`devium needs Node 24 or newer (this is ${process.version}); run npm install in ${root} first`)
    process.exit(1)
  }
  const child = spawn(node, [fileURLToPath(new URL('./exec.mjs', import.meta.url)), entry, ...process.argv.slice(2)], {
    stdio: 'inherit',
  })
  // The terminal sends Ctrl-C to the whole group; a signal sent to this process alone is passed on.
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(name, () => {
      if (name !== 'SIGINT' || !process.stdin.isTTY) child.kill(name)
    })
  }
  child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 1)))
}
