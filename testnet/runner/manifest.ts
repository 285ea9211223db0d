import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { isErrno, UsageError } from '../../src/lib/errors.ts'
import { describeFileError } from '../../src/lib/fileErrors.ts'
import { makeDirectory } from '../../src/lib/makeDirectory.ts'
import { writeWhole } from '../../src/lib/wholeFile.ts'
import type { ChainParameters } from '../chainParameters.ts'
import { forksAround, forksAtGenesis, type TestnetFork } from '../forks.ts'
import { NODE_NAME_PATTERN, type TestnetLayout } from './layout.ts'
import { readJson } from './readJson.ts'

/** The data of a chain that is kept between two starts. */
export interface Manifest {
  version: 1
  chain: ChainParameters
  /** False while the chain is being made. The next start deletes the files of an interrupted start. */
  complete: boolean
}

/** Undefined if the directory holds no testnet. */
export function readManifest(layout: TestnetLayout): Manifest | undefined {
  if (!existsSync(layout.manifest)) return undefined
  const manifest = readJson(layout.manifest) as Partial<Manifest>
  if (manifest.version === 1 && manifest.chain !== undefined && hasNumbers(manifest.chain)) {
    // Old manifests, from before the fork was configurable.
    const forks = manifest.chain.forks ?? forksAtGenesis('holocene')
    return { version: 1, chain: { ...manifest.chain, forks }, complete: manifest.complete === true }
  }
  throw new UsageError(`${layout.manifest} is not a testnet this version knows: use another --dir, or --reset`)
}

function hasNumbers({ l1ChainId, l2ChainId, blockTime, l1BlockTime, genesisTime }: ChainParameters): boolean {
  return [l1ChainId, l2ChainId, blockTime, l1BlockTime, genesisTime].every(Number.isSafeInteger)
}

export function writeManifest(layout: TestnetLayout, manifest: Manifest): Promise<void> {
  return writeWhole(layout.manifest, `${JSON.stringify(manifest, null, 2)}\n`)
}

/** Throws UsageError if a given flag contradicts the kept chain. */
export function checkSameChain(
  kept: ChainParameters,
  wanted: Omit<ChainParameters, 'genesisTime' | 'forks'>,
  given: ReadonlySet<string>,
): void {
  const flags = [
    ['l1-chain-id', kept.l1ChainId, wanted.l1ChainId],
    ['chain-id', kept.l2ChainId, wanted.l2ChainId],
    ['block-time', kept.blockTime, wanted.blockTime],
  ] as const
  for (const [flag, before, now] of flags) {
    if (given.has(flag) && before !== now) {
      throw new UsageError(
        `--${flag} ${now}: the chain kept in this directory was made with ${before}; use another --dir, or --reset to begin anew`,
      )
    }
  }
}

/** Throws UsageError if the kept chain started with another fork. */
export function checkSameFork({ forks }: ChainParameters, wanted: TestnetFork): void {
  const { active } = forksAround(forks, 0)
  if (active === wanted) return
  throw new UsageError(
    `--fork ${wanted}: the chain kept in this directory began with ${active}; --fork-at activates a later one, another --dir or --reset begins anew`,
  )
}

/** Locks the directory for this process. Throws UsageError while another runner uses it. */
export function lockDirectory(layout: TestnetLayout): () => void {
  makeDirectory(layout.dir)
  for (let attempt = 0; ; attempt++) {
    try {
      writeFileSync(layout.lock, `${process.pid}\n${startOf(process.pid)}`, { flag: 'wx' })
      return () => rmSync(layout.lock, { force: true })
    } catch (cause) {
      if (!isErrno(cause, 'EEXIST') || attempt > 0) {
        // In a file system without file creation, such as /proc, the error is ENOENT.
        const reason = isErrno(cause, 'ENOENT') ? 'the system does not allow files there' : describeFileError(cause)
        throw new UsageError(`cannot write to --dir ${layout.dir}: ${reason}`)
      }
      const [pid, start = ''] = readFileSync(layout.lock, 'utf8').split('\n')
      if (isAlive(Number(pid), start))
        throw new UsageError(
          `another testnet (process ${pid}) runs in ${layout.dir}: choose another --dir and --base-port; if that process is no testnet, delete ${layout.lock}`,
        )
      rmSync(layout.lock, { force: true })
    }
  }
}

/**
 * Clears the directory for a new chain. Removes the files of an earlier testnet, and nothing else. Throws UsageError if the
 * directory holds only other files, which a new testnet would mix with.
 */
export function clearDirectory(layout: TestnetLayout): void {
  if (existsSync(layout.manifest)) removeTestnet(layout)
  else checkDirectoryUsable(layout)
}

/** The entries of a testnet's chain in its directory. The manifest is last: it tells that the directory holds a testnet. */
export function chainEntries(layout: TestnetLayout): string[] {
  const nodes = readdirSync(layout.dir).filter((name) => NODE_NAME_PATTERN.test(name))
  return ['l1', basename(layout.joinDir), ...nodes, basename(layout.manifest)]
}

function removeTestnet(layout: TestnetLayout): void {
  const files = [layout.rpcToken, layout.addresses].map((path) => basename(path))
  for (const name of ['logs', ...files, ...chainEntries(layout)]) {
    rmSync(join(layout.dir, name), { recursive: true, force: true })
  }
}

function checkDirectoryUsable(layout: TestnetLayout): void {
  const others = readdirSync(layout.dir).filter((name) => name !== basename(layout.lock))
  if (others.length === 0) return
  throw new UsageError(`--dir ${layout.dir} is not empty and holds no testnet: choose another`)
}

/** `start`: what `startOf` returned for the process. After a reboot, another process may have its number. */
function isAlive(pid: number, start: string): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (!isErrno(error, 'EPERM')) return false
  }
  const found = startOf(pid)
  return start === '' || found === '' || start === found
}

/** When the process started, in the system's own form; empty if the system does not tell. */
function startOf(pid: number): string {
  try {
    // Field 22 of proc(5). Field 2 is the name in brackets, and may hold spaces. ps would compute the time anew, a second off.
    if (process.platform === 'linux')
      return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[19] ?? ''
    const env = { ...process.env, LC_ALL: 'C', TZ: 'UTC' }
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8', env, stdio: 'pipe' }).trim()
  } catch {
    return ''
  }
}
