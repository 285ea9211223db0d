import type { Clock } from '../lib/clock.ts'
import type { Logger } from '../lib/logger.ts'
import { type AccessListStore, createMemoryAccessListStore, openAccessListFile } from './host/accessListStore.ts'
import { type Identity, loadIdentity } from './host/identity.ts'
import { openPeerDatastore, type PeerDatastore } from './host/peerStore.ts'
import type { P2pOptions } from './options.ts'
import { openPeerHistories, type PeerHistories } from './score/peerHistory.ts'
import { openScoreBook, type ScoreBook } from './score/scoreBook.ts'

/** All that outlives the process. */
export interface NodeStorage {
  identity: Identity
  /** Block lists, bans and protection, in a file of their own: they survive a damaged peer store. */
  access: AccessListStore
  datastore: PeerDatastore['datastore']
  histories: PeerHistories
  scoreBook: ScoreBook
  close(): Promise<void>
}

export interface NodeStorageModules {
  clock: Clock
  logger: Logger
  /** A peer's score now, for its history. */
  score(peerId: string): number
}

/** Opens what the options name; nothing stays open when one of it cannot be. Throws UsageError. */
export async function openNodeStorage(
  modules: NodeStorageModules,
  options: P2pOptions,
  limits: { retainScoresMs: number },
): Promise<NodeStorage> {
  const { privateKey: rawKey, privateKeyPath } = options
  // `peers/` is the folder `peers`: what belongs beside it must not end up in it.
  const peerStorePath = options.peerStorePath.replace(/(?<=.)[\\/]+$/, '')
  const identity = await loadIdentity(modules, {
    ...(rawKey === undefined ? {} : { rawKey }),
    ...(privateKeyPath === undefined ? {} : { path: privateKeyPath }),
  })
  const { datastore, close } = await openPeerDatastore(peerStorePath, modules)
  try {
    // After the store, whose lock keeps another process from both.
    const access =
      peerStorePath === 'memory'
        ? createMemoryAccessListStore()
        : await openAccessListFile(`${peerStorePath}.access.json`, modules)
    const histories = await openPeerHistories(modules, datastore)
    const scoreBook = await openScoreBook(modules, options.scoring === 'none' ? undefined : datastore, {
      retainMs: limits.retainScoresMs,
    })
    return { identity, access, datastore, histories, scoreBook, close }
  } catch (error) {
    await close()
    throw error
  }
}
