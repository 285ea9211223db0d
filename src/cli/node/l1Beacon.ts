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

/** Where blobs are read; undefined for a chain without blobs, or at the operator's risk. Throws UsageError. */
export function beaconOptionsFromFlags(values: BeaconValues, config: RollupConfig): BeaconOptions | undefined {
  if (!isForkActive(config, 'ecotone', Number.MAX_SAFE_INTEGER)) return undefined
  if (values.l1Beacon === undefined) {
    if (values.l1BeaconIgnore) return undefined
    throw new UsageError(
      '--l1.beacon is required from Ecotone on; --l1.beacon.ignore runs without (batches must be calldata)',
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
 * The beacon API, checked for an answer unless told to ignore that. Closed with `opened`, as is the process that checks
 * blobs, which starts with the first one.
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
    logger.warn('The L1 beacon API does not answer: blobs cannot be read until it does', { err: error })
  }
  return client
}

/** `X-Key: value`; the value may be secret, and is not repeated. */
function readHeader(text: string): Record<string, string> {
  const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*([^\r\n]*)$/.exec(text.trim()) ?? []
  if (name === undefined || value === undefined)
    throw new UsageError('--l1.beacon-header must be of the form Name: value')
  return { [name]: value }
}
