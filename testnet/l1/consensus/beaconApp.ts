import { Hono } from 'hono'
import { describeError } from '../../../src/lib/errors.ts'
import type { Logger } from '../../../src/lib/logger.ts'
import type { BlobStore } from './blobStore.ts'
import type { SlotTimes } from './slots.ts'

export interface BeaconChain extends SlotTimes {
  slotsPerEpoch: number
  /** Chain id of L1. */
  chainId: number
}

export interface BeaconModules {
  blobs: Pick<BlobStore, 'read'>
  headSlot: () => Promise<number>
  logger: Logger
}

/** The part of the beacon API that rollup nodes use: slot times, and the blobs of a slot. */
export function createBeaconApp(
  { blobs, headSlot, logger }: BeaconModules,
  { genesisTime, secondsPerSlot, slotsPerEpoch, chainId }: BeaconChain,
): Hono {
  const app = new Hono()
  app.get('/eth/v1/node/version', (context) => context.json({ data: { version: 'devium-testnet' } }))
  app.get('/eth/v1/node/syncing', (context) =>
    context.json({ data: { sync_distance: '0', is_syncing: false, is_optimistic: false, el_offline: false } }),
  )
  app.get('/eth/v1/beacon/genesis', (context) => context.json({ data: { genesis_time: String(genesisTime) } }))
  app.get('/eth/v1/config/spec', (context) =>
    context.json({
      data: {
        SECONDS_PER_SLOT: String(secondsPerSlot),
        SLOTS_PER_EPOCH: String(slotsPerEpoch),
        DEPOSIT_CHAIN_ID: String(chainId),
      },
    }),
  )
  app.get('/eth/v1/beacon/blobs/:slot{[0-9]{1,15}|head}', async (context) => {
    const slot = context.req.param('slot')
    // The head always has a block, so a missing file means that it has no blobs.
    const stored = slot === 'head' ? ((await blobs.read(await headSlot())) ?? []) : await blobs.read(Number(slot))
    if (stored === undefined) return context.json({ code: 404, message: 'no block with blobs at this slot' }, 404)
    const wanted = (context.req.queries('versioned_hashes') ?? []).flatMap((text) => text.toLowerCase().split(','))
    const given = stored.filter(({ versionedHash }) => wanted.length === 0 || wanted.includes(versionedHash))
    return context.json({ data: given.map(({ blob }) => blob), execution_optimistic: false, finalized: false })
  })
  app.notFound((context) => context.json({ code: 404, message: 'not served here' }, 404))
  app.onError((error, context) => {
    logger.warn('Could not answer the beacon API', { path: context.req.path, err: describeError(error) })
    return context.json({ code: 500, message: describeError(error) }, 500)
  })
  return app
}
