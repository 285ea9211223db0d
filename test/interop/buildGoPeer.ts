import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const SOURCES = fileURLToPath(new URL('./goPeer/', import.meta.url))
/** With no module and nothing compiled yet it takes two minutes on two cores. */
const BUILD_TIMEOUT_MS = 360_000
/** What Go says when it cannot have the modules, as against a fault in the program. */
const UNREACHABLE =
  /dial tcp|no such host|i\/o timeout|connection re(fused|set)|TLS handshake|proxyconnect|: (40[347]|50[234]) |EOF|disabled by GOPROXY|cache (not found|is required)/

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
  mkdirSync(folder, { recursive: true })
  let hasWaited = false
  while (!existsSync(path)) {
    // Test files run beside each other, and one at a time is to compile.
    if (!lock(`${path}.lock`)) {
      hasWaited ||= isHeld(`${path}.lock`)
      await new Promise((resolve) => setTimeout(resolve, 200))
      continue
    }
    try {
      // One after the other would take longer than a test file may.
      if (hasWaited) return { skip: 'another test file has tried to build it in vain' }
      const fault = await goBuild(`${path}.draft`)
      if (fault === undefined) renameSync(`${path}.draft`, path)
      else return { skip: skipReason(fault) }
    } finally {
      rmSync(`${path}.lock`)
    }
  }
  return { path }
}

/** False while another living process has it. */
function lock(path: string): boolean {
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' })
    return true
  } catch {
    if (!isHeld(path)) rmSync(path, { force: true })
    return false
  }
}

function isHeld(path: string): boolean {
  try {
    process.kill(Number(readFileSync(path, 'utf8')), 0)
    return true
  } catch {
    return false
  }
}

interface BuildFault {
  code: unknown
  killed: boolean
  output: string
}

function skipReason({ code, killed, output }: BuildFault): string {
  if (code === 'ENOENT') return 'go is not installed'
  if (killed) return `building took more than ${BUILD_TIMEOUT_MS / 1000} s`
  if (/requires go >= |invalid go version/.test(output)) return `go is too old: ${output.trim()}`
  const unreachable = output.split('\n').find((line) => UNREACHABLE.test(line))
  if (unreachable !== undefined) return `modules cannot be fetched: ${unreachable.trim()}`
  throw new Error(`go build failed: ${output}`)
}

function goBuild(target: string): Promise<BuildFault | undefined> {
  const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly -buildvcs=false', GOTOOLCHAIN: 'local' }
  const options = { cwd: SOURCES, env, timeout: BUILD_TIMEOUT_MS, killSignal: 'SIGKILL' as const }
  return new Promise((resolve) => {
    execFile('go', ['build', '-trimpath', '-o', target, '.'], options, (error, stdout, stderr) => {
      if (error === null) resolve(undefined)
      else resolve({ code: error.code, killed: error.killed === true, output: `${stdout}${stderr}` })
    })
  })
}
