import { type Beacon, type BeaconOptions, createBeacon } from '../../l1/index.ts'
import type { Clock } from '../../lib/clock.ts'
import { UsageError } from '../../lib/errors.ts'
import { createKzg } from '../../lib/kzg/index.ts'
import type { Logger } from '../../lib/logger.ts'
import { isForkActive, type RollupConfig } from '../../rollup/protocol/index.ts'
import type { FlagValues } from '../shared/flags.ts'
import { checkHttpUrl } from '../shared/httpUrl.ts'
import type { rollupNodeFlags } from './rollupNodeFlags.ts'

type BeaconValues = Pick<
  FlagValues<typeof rollupNodeFlags>,
  | 'l1Beacon'
  | 'l1BeaconHeader'
  | 'l1BeaconFallbacks'
  | 'l1BeaconArchiver'
  | 'l1BeaconIgnore'
  | 'l1BeaconSlotDurationOverride'
>

/** The source of blobs. Undefined for a chain without blobs, or when the operator accepted the risk. Throws UsageError. */
export function beaconOptionsFromFlags(values: BeaconValues, config: RollupConfig): BeaconOptions | undefined {
  if (!isForkActive(config, 'ecotone', Number.MAX_SAFE_INTEGER)) return undefined
  if (values.l1Beacon === undefined) {
    if (values.l1BeaconIgnore) return undefined
    throw new UsageError(
      '--l1.beacon is required since Ecotone. With --l1.beacon.ignore the node starts without it, but cannot derive batches in blobs',
    )
  }
  const fallbackUrls = [...new Set([...values.l1BeaconFallbacks, ...values.l1BeaconArchiver])]
  checkHttpUrl('--l1.beacon', values.l1Beacon)
  for (const url of fallbackUrls) checkHttpUrl('--l1.beacon-fallbacks', url)
  return {
    url: values.l1Beacon,
    fallbackUrls,
    slotDurationOverrideS: values.l1BeaconSlotDurationOverride,
    ...(values.l1BeaconHeader === undefined ? {} : { headers: readHeader(values.l1BeaconHeader) }),
  }
}

/**
 * Opens the beacon API and checks that it answers, unless a flag turns the check off. `opened` closes it and the process
 * that verifies blobs. That process starts with the first blob.
 */
export async function openBeacon(
  options: BeaconOptions | undefined,
  { ignoreFailedCheck, signal }: { ignoreFailedCheck: boolean; signal: AbortSignal },
  { clock, logger, opened }: { clock: Clock; logger: Logger; opened: AsyncDisposableStack },
): Promise<Beacon['client'] | undefined> {
  if (options === undefined) return undefined
  const kzg = createKzg({ clock, logger, signal })
  opened.defer(() => kzg.close())
  const { client, checkVersion } = createBeacon({ kzg, clock, logger }, options)
  opened.defer(() => client.close())
  try {
    await checkVersion(signal)
  } catch (error) {
    if (!ignoreFailedCheck || signal.aborted) throw error
    logger.warn('The L1 beacon API does not answer. The node cannot read blobs until it does', { err: error })
  }
  return client
}

/** Parses `X-Key: value`. The error does not repeat the value, which may be secret. */
function readHeader(text: string): Record<string, string> {
  const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*([^\r\n]*)$/.exec(text.trim()) ?? []
  if (name === undefined || value === undefined)
    throw new UsageError('--l1.beacon-header: expected a header as "Name: value"')
  return { [name]: value }
}
