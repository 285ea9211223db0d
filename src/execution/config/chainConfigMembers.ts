import { isObject } from '../../lib/jsonReader.ts'
import { type KnownMembers, type UnknownMember, unknownMembers } from '../../lib/unknownMembers.ts'
import { FORKS } from '../../rollup/protocol/index.ts'

const all = (...names: string[]): Record<string, true> => Object.fromEntries(names.map((name) => [name, true]))

/** Members that geth, op-geth and op-reth have in `config` of a genesis file. Not all of them are read here. */
const KNOWN: KnownMembers = {
  ...all('chainId', ...FORKS.map((fork) => `${fork}Time`), 'interopTime', 'bedrockBlock'),
  ...all('homesteadBlock', 'daoForkBlock', 'daoForkSupport', 'eip150Block', 'eip150Hash', 'eip155Block', 'eip158Block'),
  ...all('byzantiumBlock', 'constantinopleBlock', 'petersburgBlock', 'istanbulBlock', 'muirGlacierBlock'),
  ...all('berlinBlock', 'londonBlock', 'arrowGlacierBlock', 'grayGlacierBlock', 'mergeNetsplitBlock'),
  ...all('shanghaiTime', 'cancunTime', 'pragueTime', 'osakaTime', 'amsterdamTime', 'verkleTime', 'ubtTime'),
  ...all('bpo1Time', 'bpo2Time', 'bpo3Time', 'bpo4Time', 'bpo5Time', 'blobSchedule'),
  ...all('terminalTotalDifficulty', 'terminalTotalDifficultyPassed', 'depositContractAddress'),
  ...all('enableVerkleAtGenesis', 'enableUBTAtGenesis', 'ethash', 'clique', 'extraFields'),
  optimism: all('eip1559Elasticity', 'eip1559Denominator', 'eip1559DenominatorCanyon'),
}

/** Unknown members of a genesis file's `config`. A misspelt fork would never activate. */
export function unknownChainConfigMembers(genesis: unknown): UnknownMember[] {
  return isObject(genesis) ? unknownMembers(genesis.config, KNOWN, 'config.') : []
}
