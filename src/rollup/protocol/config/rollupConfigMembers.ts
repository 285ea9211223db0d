import type { JsonObjectReader } from '../../../lib/jsonReader.ts'
import { describeUnknown, type KnownMembers, type UnknownMember, unknownMembers } from '../../../lib/unknownMembers.ts'
import { FORKS, type UnknownFork } from '../types.ts'

const all = (...names: string[]): Record<string, true> => Object.fromEntries(names.map((name) => [name, true]))
const BLOCK = all('hash', 'number')

/** Members that op-node and kona write in a rollup config, now or in the past. Not all of them are used here. */
const KNOWN: KnownMembers = {
  genesis: {
    l1: BLOCK,
    l2: BLOCK,
    l2_time: true,
    system_config: all(
      ...['batcherAddr', 'batcherAddress', 'overhead', 'scalar', 'gasLimit', 'minBaseFee', 'daFootprintGasScalar'],
      ...['eip1559Params', 'eip1559Denominator', 'eip1559Elasticity', 'baseFeeScalar', 'blobBaseFeeScalar'],
      ...['operatorFeeParams', 'operatorFeeScalar', 'operatorFeeConstant'],
    ),
  },
  ...all(...FORKS.map((fork) => `${fork}_time`), 'interop_time', 'pectra_blob_schedule_time', 'keep_karst_upgrade_gas'),
  ...all('block_time', 'max_sequencer_drift', 'seq_window_size', 'channel_timeout', 'l1_chain_id', 'l2_chain_id'),
  ...all('batch_inbox_address', 'deposit_contract_address', 'l1_system_config_address', 'protocol_versions_address'),
  ...all('superchain_config_address', 'blobs_enabled_l1_timestamp', 'granite_channel_timeout'),
  interop_message_expiry_window: true,
  chain_op_config: all(
    ...['eip1559Elasticity', 'eip1559Denominator', 'eip1559DenominatorCanyon'],
    ...['eip1559_elasticity', 'eip1559_denominator', 'eip1559_denominator_canyon'],
  ),
  alt_da: all(
    ...['da_challenge_contract_address', 'da_challenge_address', 'da_commitment_type'],
    ...['da_challenge_window', 'da_resolve_window', 'da_max_input_size'],
  ),
  ...all('use_plasma', 'use_alt_da', 'da_challenge_address', 'da_challenge_window', 'da_resolve_window'),
}

const FORK_TIME = /^([a-z][a-z0-9_]*)_time$/

/** Forks that a rollup.json, or a registry entry, names by `<name>_time` and that this version does not know. They include misspelt forks. */
export function unknownForksOf(config: JsonObjectReader): UnknownFork[] {
  return config.names().flatMap((member): UnknownFork[] => {
    const time = config.raw(member)
    const [, name] = FORK_TIME.exec(member) ?? []
    const isUnknown = name !== undefined && !Object.hasOwn(KNOWN, member)
    return isUnknown && typeof time === 'number' && Number.isSafeInteger(time) && time >= 0 ? [{ name, time }] : []
  })
}

/** Unknown members of a rollup.json. A misspelt fork would never activate. */
export function unknownConfigMembers(json: unknown): UnknownMember[] {
  return unknownMembers(json, KNOWN)
}

/** One line about an unknown member: its effect, and the member that was probably meant. */
export function describeUnknownMember(unknown: UnknownMember, forks: readonly UnknownFork[] = []): string {
  const isFork = forks.some(({ name }) => unknown.member === `${name}_time`)
  return describeUnknown(unknown, isFork ? 'it counts as a fork that this version does not know' : undefined)
}
