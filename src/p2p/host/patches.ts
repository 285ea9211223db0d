import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { UsageError } from '../../lib/errors.ts'

/** A library patch without which a hostile peer could block the node: see patches/README.md. */
interface Guard {
  library: string
  /** Relative to the library's entry. */
  file: string
  /** Text that only the patched file contains. */
  mark: string
  against: string
}

/** Three folders up in a checkout; four in the package, where this file is below dist/. */
const PATCHER = fileURLToPath(
  new URL(`../../../${import.meta.url.endsWith('.ts') ? '' : '../'}bin/applyPatches.mjs`, import.meta.url),
)

const GUARDS: readonly Guard[] = [
  {
    library: '@libp2p/utils',
    file: 'stream-utils.js',
    mark: 'lengthBuffer.byteLength < (opts?.maxLengthLength ?? 8)',
    against: 'endless length prefixes',
  },
  {
    library: '@libp2p/multistream-select',
    file: 'handle.js',
    mark: 'MAX_PROPOSALS',
    against: 'endless protocol proposals',
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
    against: 'endless answers of nodes',
  },
]

/**
 * Throws UsageError when a patch is missing, as after `npm ci --ignore-scripts`. Otherwise a hostile peer would be the
 * first to notice. `entryOf` returns the URL of a library's entry.
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
