import type { JsonValue } from '../../jsonRpc/types.ts'
import { FORKS, type Fork } from '../../rollup/protocol/types.ts'
import type { RecordedRpc } from './recordedRpc.ts'

type Json = { [key: string]: JsonValue }

/**
 * A Holocene recording's chain with the later forks up to this one, active from genesis on. `at` applies to the last
 * fork only.
 */
export function withFork(recording: RecordedRpc, fork: Fork, at = 0): RecordedRpc {
  const later = FORKS.slice(FORKS.indexOf('isthmus'), FORKS.indexOf(fork) + 1)
  const times = (suffix: string): Json =>
    Object.fromEntries(later.map((name) => [`${name}${suffix}`, name === fork ? at : 0]))
  const { config, ...rest } = recording.genesis
  const extraData = fork === 'isthmus' ? rest.extraData : '0x01000000fa000000060000000000000000'
  return {
    ...recording,
    genesis: {
      ...rest,
      extraData: extraData ?? null,
      config: { ...(config as Json), ...times('Time'), pragueTime: 0 },
    },
    rollup: { ...recording.rollup, ...times('_time') },
  }
}
