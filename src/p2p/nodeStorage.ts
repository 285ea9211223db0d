import type { Clock } from '../lib/clock.ts'
import type { Logger } from '../lib/logger.ts'
import type { P2pOptions } from './base/options.ts'
import { type Identity, loadIdentity } from './host/identity.ts'
import { openPeerDatastore, type PeerDatastore } from './host/peerStore.ts'
import { type AccessListStore, createMemoryAccessListStore, openAccessListFile } from './peers/accessListStore.ts'

/** All state that survives the process. */
export interface NodeStorage {
  identity: Identity
  /** Block lists, bans and protection. They have their own file, so they survive a damaged peer store. */
  access: AccessListStore
  datastore: PeerDatastore['datastore']
  close(): Promise<void>
}

/** Opens the stores that the options name. If one fails, none stays open. Throws UsageError. */
export async function openNodeStorage(
  modules: { clock: Clock; logger: Logger },
  options: P2pOptions,
): Promise<NodeStorage> {
  const { privateKey: rawKey, privateKeyPath } = options
  // `peers/` means the folder `peers`. The access file belongs beside the folder, not inside it.
  const peerStorePath = options.peerStorePath.replace(/(?<=.)[\\/]+$/, '')
  const identity = await loadIdentity(modules, {
    ...(rawKey === undefined ? {} : { rawKey }),
    ...(privateKeyPath === undefined ? {} : { path: privateKeyPath }),
  })
  const { datastore, close } = await openPeerDatastore(peerStorePath, modules)
  try {
    // Opened after the store: the store's lock keeps other processes away from both.
    const access =
      peerStorePath === 'memory'
        ? createMemoryAccessListStore()
        : await openAccessListFile(`${peerStorePath}.access.json`, modules)
    return { identity, access, datastore, close }
  } catch (error) {
    await close()
    throw error
  }
}
