import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BuildFault, buildOnce, type PeerBinary, runCompiler, usualSkipReason } from './buildOnce.ts'

const SOURCES = fileURLToPath(new URL('./opAlloy/', import.meta.url))
/** What cargo says when it cannot have the crates, as against a fault in the program. */
const UNREACHABLE =
  /Could(n't| not) (resolve|connect)|failed to (download|fetch|get|query)|download of .* failed|network failure|Operation timed out|HTTP (response )?(code|status)/i

/** `skip` says why the program cannot run here; faults of the program itself are thrown. */
export function buildOpAlloy(): Promise<PeerBinary> {
  return buildOnce({ name: 'op-alloy-peer', sources: SOURCES, build: cargoBuild, skipReason })
}

function skipReason(fault: BuildFault): string {
  const usual = usualSkipReason('cargo', fault)
  if (usual !== undefined) return usual
  const lines = fault.output.split('\n')
  const tooOld = lines.find((line) =>
    /requires rustc|rustc .* is not supported|edition2024|lock file version/.test(line),
  )
  if (tooOld !== undefined) return `cargo is too old: ${tooOld.trim()}`
  const unreachable = lines.find((line) => UNREACHABLE.test(line))
  if (unreachable !== undefined) return `crates cannot be fetched: ${unreachable.trim()}`
  throw new Error(`cargo build failed: ${fault.output}`)
}

async function cargoBuild(target: string, folder: string): Promise<BuildFault | undefined> {
  const made = join(folder, 'target')
  const fault = await runCompiler('cargo', ['build', '--locked', '--target-dir', made], { cwd: SOURCES })
  if (fault === undefined) await copyFile(join(made, 'debug', 'op-alloy-peer'), target)
  return fault
}
