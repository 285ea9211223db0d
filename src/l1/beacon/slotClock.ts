import { describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import type { L1BlockRef } from '../../rollup/protocol/types.ts'
import type { BeaconEndpoint } from './beaconEndpoint.ts'
import { BeaconError } from './errors.ts'

export interface SlotClock {
  /**
   * Returns the slot of an L1 block. Rejects with BeaconError while no endpoint reports genesis time and slot length.
   */
  slotOf(block: Pick<L1BlockRef, 'number' | 'timestamp'>, signal?: AbortSignal): Promise<number>
  /** Call it if no endpoint has blobs of the slot: the reported genesis time may be another network's. */
  forget(): void
}

type Rule = { genesisTime: number; secondsPerSlot: number } | 'block number'

/**
 * Computes slots from the genesis time and the slot length. Both are requested on first use, from the primary
 * endpoint first. `durationOverrideS` (`--l1.beacon.slot-duration-override`) replaces the slot length; 0 = no override.
 *
 * Anvil serves blobs and the genesis time, but neither `config/spec` nor `node/version`, and uses block numbers as
 * slots. An endpoint that lacks both paths is treated in this way.
 */
export function createSlotClock(
  { endpoints, logger }: { endpoints: readonly BeaconEndpoint[]; logger: Logger },
  { durationOverrideS = 0 }: { durationOverrideS?: number },
): SlotClock {
  let loading: Promise<Rule> | undefined

  const ruleOf = async (endpoint: BeaconEndpoint, signal?: AbortSignal): Promise<Rule> => {
    const genesisTime = await endpoint.genesisTime(signal)
    if (durationOverrideS > 0) return { genesisTime, secondsPerSlot: durationOverrideS }
    try {
      return { genesisTime, secondsPerSlot: await endpoint.secondsPerSlot(signal) }
    } catch (error) {
      if (!isNotFound(error) || !(await lacksVersion(endpoint, signal))) throw error
      logger.info('Beacon endpoint has no slots, like Anvil: using block numbers as slots', { url: endpoint.name })
      return 'block number'
    }
  }
  const load = async (signal?: AbortSignal): Promise<Rule> => {
    const problems: string[] = []
    let cause: unknown
    for (const endpoint of endpoints) {
      try {
        return await ruleOf(endpoint, signal)
      } catch (error) {
        signal?.throwIfAborted()
        cause ??= error
        problems.push(`${endpoint.name}: ${describeError(error)}`)
      }
    }
    const message = `no beacon endpoint reports the genesis time and the slot length: ${problems.join('; ')}`
    throw new BeaconError('beacon-unreachable', message, { cause })
  }

  return {
    async slotOf({ number, timestamp }, signal) {
      loading ??= load(signal).catch((error: unknown) => {
        loading = undefined
        throw error
      })
      const rule = await loading
      if (rule === 'block number') return number
      if (timestamp < rule.genesisTime) {
        loading = undefined
        const message = `L1 block ${number} has timestamp ${timestamp}, before the beacon chain's genesis at ${rule.genesisTime}`
        throw new BeaconError('beacon-bad-answer', message)
      }
      return Math.floor((timestamp - rule.genesisTime) / rule.secondsPerSlot)
    },
    forget() {
      loading = undefined
    },
  }
}

async function lacksVersion(endpoint: BeaconEndpoint, signal?: AbortSignal): Promise<boolean> {
  try {
    await endpoint.version(signal)
    return false
  } catch (error) {
    return isNotFound(error)
  }
}

function isNotFound(error: unknown): boolean {
  return error instanceof BeaconError && error.code === 'beacon-not-found'
}
