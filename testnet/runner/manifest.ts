import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { isErrno, UsageError } from '../../src/lib/errors.ts'
import { describeFileError } from '../../src/lib/fileErrors.ts'
import { makeDirectory } from '../../src/lib/makeDirectory.ts'
import type { ChainParameters } from '../chainParameters.ts'
import { forksAround, forksAtGenesis, type TestnetFork } from '../forks.ts'
import { NODE_NAME_PATTERN, type TestnetLayout } from './layout.ts'

/** The data of a chain that is kept between two starts. */
export interface Manifest {
  version: 1
  chain: ChainParameters
  /** False while the chain is being made. The next start deletes the files of an interrupted start. */
  complete: boolean
}

/** Undefined if the directory holds no testnet. */
export function readManifest(layout: TestnetLayout): Manifest | undefined {
  let text: string
  try {
    text = readFileSync(layout.manifest, 'utf8')
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined
    throw error
  }
  try {
    const manifest = JSON.parse(text) as Partial<Manifest>
    if (manifest.version === 1 && manifest.chain !== undefined && hasNumbers(manifest.chain)) {
      // Old manifests, from before the fork was configurable.
      const forks = manifest.chain.forks ?? forksAtGenesis('holocene')
      return { version: 1, chain: { ...manifest.chain, forks }, complete: manifest.complete === true }
    }
  } catch {}
  throw new UsageError(`${layout.manifest} is not a testnet this version knows: use another --dir, or --reset`)
}

function hasNumbers({ l1ChainId, l2ChainId, blockTime, l1BlockTime, genesisTime }: ChainParameters): boolean {
  return [l1ChainId, l2ChainId, blockTime, l1BlockTime, genesisTime].every(Number.isSafeInteger)
}

export function writeManifest(layout: TestnetLayout, manifest: Manifest): void {
  writeFileSync(layout.manifest, `${JSON.stringify(manifest, null, 2)}\n`)
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
      writeFileSync(layout.lock, String(process.pid), { flag: 'wx' })
      return () => rmSync(layout.lock, { force: true })
    } catch (cause) {
      if (!isErrno(cause, 'EEXIST') || attempt > 0) {
        // In a file system without file creation, such as /proc, the error is ENOENT.
        const reason = isErrno(cause, 'ENOENT') ? 'the system does not allow files there' : describeFileError(cause)
        throw new UsageError(`cannot write to --dir ${layout.dir}: ${reason}`)
      }
      const pid = Number(readFileSync(layout.lock, 'utf8'))
      if (isAlive(pid))
        throw new UsageError(
          `another testnet (process ${pid}) runs in ${layout.dir}: choose another --dir and --base-port`,
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

/** The entries of a testnet's chain in its directory: the manifest, L1, the join files, and the nodes. */
export function chainEntries(layout: TestnetLayout): string[] {
  const nodes = readdirSync(layout.dir).filter((name) => NODE_NAME_PATTERN.test(name))
  return [basename(layout.manifest), 'l1', basename(layout.joinDir), ...nodes]
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

function isAlive(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return isErrno(error, 'EPERM')
  }
}
