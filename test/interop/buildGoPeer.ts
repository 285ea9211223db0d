import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const SOURCES = fileURLToPath(new URL('./goPeer/', import.meta.url))
/** With no module and nothing compiled yet it takes two minutes on two cores. */
const BUILD_TIMEOUT_MS = 360_000
/** What Go says when it cannot reach the modules, as against a fault in the program. */
const UNREACHABLE =
  /dial tcp|no such host|i\/o timeout|connection re(fused|set)|TLS handshake|proxyconnect|50[234] |EOF/

export type GoPeerBinary = { path: string } | { skip: string }

/**
 * Builds the peer once for each state of its sources, into the system's folder for temporary files. `skip` says why it
 * cannot run here; faults of the program itself are thrown.
 */
export async function buildGoPeer(): Promise<GoPeerBinary> {
  const hash = createHash('sha256')
  for (const name of readdirSync(SOURCES).sort()) hash.update(name).update(readFileSync(join(SOURCES, name)))
  const folder = join(tmpdir(), 'devium-go-peer')
  const path = join(folder, `goPeer-${hash.digest('hex').slice(0, 16)}`)
  if (existsSync(path)) return { path }
  mkdirSync(folder, { recursive: true })

  const draft = `${path}.${process.pid}`
  const fault = await goBuild(draft)
  if (fault === undefined) {
    // In one step: another run may be at it too.
    renameSync(draft, path)
    return { path }
  }
  if (fault.code === 'ENOENT') return { skip: 'go is not installed' }
  if (fault.killed) return { skip: `building took more than ${BUILD_TIMEOUT_MS / 1000} s` }
  if (UNREACHABLE.test(fault.output))
    return { skip: `modules cannot be fetched: ${fault.output.trim().split('\n')[0]}` }
  throw new Error(`go build failed: ${fault.output}`)
}

function goBuild(target: string): Promise<{ code: unknown; killed: boolean; output: string } | undefined> {
  const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly -buildvcs=false', GOTOOLCHAIN: 'local' }
  const options = { cwd: SOURCES, env, timeout: BUILD_TIMEOUT_MS, killSignal: 'SIGKILL' as const }
  return new Promise((resolve) => {
    execFile('go', ['build', '-trimpath', '-o', target, '.'], options, (error, stdout, stderr) => {
      if (error === null) resolve(undefined)
      else resolve({ code: error.code, killed: error.killed === true, output: `${stdout}${stderr}` })
    })
  })
}
