import { type HttpServerHandle, serveApp } from '../../src/jsonRpc/httpServer.ts'
import { DeviumError } from '../../src/lib/errors.ts'
import type { Hex } from '../../src/lib/hex.ts'
import { type BeaconChain, type BeaconModules, createBeaconApp } from './consensus/beaconApp.ts'
import type { StoredBlob } from './consensus/blobStore.ts'

export const BLOB_MODES = ['on', 'off', 'lie'] as const
export type BlobMode = (typeof BLOB_MODES)[number]

/** Serves the beacon API of a testnet's L1. Commands can make its blob requests fail. */
export class BeaconService {
  /** `off`: requests for blobs fail. `lie`: blobs do not match their versioned hashes. */
  mode: BlobMode = 'on'
  private server: HttpServerHandle | undefined

  async open(
    { blobs, ...modules }: BeaconModules,
    chain: BeaconChain,
    { host, port }: { host: string; port: number },
  ): Promise<{ url: string }> {
    const read = (slot: number) => this.read(blobs, slot)
    const app = createBeaconApp({ blobs: { read }, ...modules }, chain)
    this.server = await serveApp(app, host, port, 'beacon API')
    return this.server
  }

  async close(): Promise<void> {
    await this.server?.close()
    this.server = undefined
  }

  private async read(blobs: BeaconModules['blobs'], slot: number): Promise<StoredBlob[] | undefined> {
    if (this.mode === 'off') throw new DeviumError('blobs-off', 'blobs are off, by a command of the testnet')
    const stored = await blobs.read(slot)
    return this.mode === 'lie' ? stored?.map((blob) => ({ ...blob, blob: otherBlob(blob.blob) })) : stored
  }
}

/** A valid blob that differs in the lowest byte of its first field element. */
function otherBlob(blob: Hex): Hex {
  const at = 2 + 2 * 31
  return `0x${blob.slice(2, at)}${blob[at] === '0' ? '1' : '0'}${blob.slice(at + 1)}`
}
