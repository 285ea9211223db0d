import { fileURLToPath } from 'node:url'
import { type BuildFault, buildOnce, type PeerBinary, runCompiler, usualSkipReason } from './buildOnce.ts'

const SOURCES = fileURLToPath(new URL('./goPeer/', import.meta.url))
/** What Go says when it cannot have the modules, as against a fault in the program. */
const UNREACHABLE =
  /dial tcp|no such host|i\/o timeout|connection re(fused|set)|TLS handshake|proxyconnect|: (40[347]|50[234]) |EOF|disabled by GOPROXY|cache (not found|is required)/

/** `skip` says why the peer cannot run here; faults of the program itself are thrown. */
export function buildGoPeer(): Promise<PeerBinary> {
  return buildOnce({ name: 'go-peer', sources: SOURCES, build: goBuild, skipReason })
}

function skipReason(fault: BuildFault): string {
  const usual = usualSkipReason('go', fault)
  if (usual !== undefined) return usual
  const { output } = fault
  if (/requires go >= |invalid go version/.test(output)) return `go is too old: ${output.trim()}`
  const unreachable = output.split('\n').find((line) => UNREACHABLE.test(line))
  if (unreachable !== undefined) return `modules cannot be fetched: ${unreachable.trim()}`
  throw new Error(`go build failed: ${output}`)
}

function goBuild(target: string): Promise<BuildFault | undefined> {
  const env = { CGO_ENABLED: '0', GOFLAGS: '-mod=readonly -buildvcs=false', GOTOOLCHAIN: 'local' }
  return runCompiler('go', ['build', '-trimpath', '-o', target, '.'], { cwd: SOURCES, env })
}
