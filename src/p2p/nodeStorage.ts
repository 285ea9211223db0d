import type { Clock } from '../lib/clock.ts'
import type { Logger } from '../lib/logger.ts'
import type { P2pOptions } from './base/options.ts'
import { type Identity, loadIdentity } from './host/identity.ts'
import { openPeerDatastore, type PeerDatastore } from './host/peerStore.ts'
import { type AccessListStore, createMemoryAccessListStore, openAccessListFile } from './peers/accessListStore.ts'

/** All that outlives the process. */
export interface NodeStorage {
  identity: Identity
  /** Block lists, bans and protection, in a file of their own: they survive a damaged peer store. */
  access: AccessListStore
  datastore: PeerDatastore['datastore']
  close(): Promise<void>
}

/** Opens what the options name; nothing stays open when one of it cannot be. Throws UsageError. */
export async function openNodeStorage(
  modules: { clock: Clock; logger: Logger },
  options: P2pOptions,
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
    return { identity, access, datastore, close }
  } catch (error) {
    await close()
    throw error
  }
}
