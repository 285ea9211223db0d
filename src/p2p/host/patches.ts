import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { UsageError } from '../../lib/errors.ts'

/** A patch of a library without which a hostile peer may hold the node up: see patches/README.md. */
interface Guard {
  library: string
  /** Beside the library's entry. */
  file: string
  /** Stands in the patched file, and in no other. */
  mark: string
  against: string
}

/** Three folders up in a checkout, four in the package, where this is below dist/. */
const PATCHER = fileURLToPath(
  new URL(`../../../${import.meta.url.endsWith('.ts') ? '' : '../'}bin/applyPatches.mjs`, import.meta.url),
)

const GUARDS: readonly Guard[] = [
  {
    library: '@libp2p/utils',
    file: 'stream-utils.js',
    mark: 'lengthBuffer.byteLength < (opts?.maxLengthLength ?? 8)',
    against: 'length prefixes without end',
  },
  {
    library: '@libp2p/multistream-select',
    file: 'handle.js',
    mark: 'MAX_PROPOSALS',
    against: 'protocol proposals without end',
  },
  {
    library: '@libp2p/identify',
    file: 'utils.js',
    mark: '.slice(0, MAX_ADDRESSES)',
    against: 'peers with thousands of addresses',
  },
  {
    library: '@libp2p/yamux',
    file: 'stream.js',
    mark: 'delta < this.recvWindow / 2',
    against: 'streams of single bytes',
  },
  {
    library: '@chainsafe/discv5',
    file: 'session/service.js',
    mark: 'Math.min(response.total, 5)',
    against: 'nodes that never end their answer',
  },
]

/**
 * Throws UsageError when one of the patches is missing, as after `npm ci --ignore-scripts`: nobody would notice before a
 * hostile peer does. `entryOf` gives the URL of a library's entry.
 */
export async function checkPatches(entryOf: (library: string) => string = (name) => import.meta.resolve(name)) {
  for (const { library, file, mark, against } of GUARDS) {
    const text = await readFile(new URL(file, entryOf(library)), 'utf8').catch(() => '')
    if (text.includes(mark)) continue
    throw new UsageError(
      `${library} is installed without its patch against ${against}: run "node ${PATCHER}" ("npm ci --ignore-scripts" and ` +
        'package managers that run no scripts leave the patches out), or start without peers (--p2p.disable)',
    )
  }
}
