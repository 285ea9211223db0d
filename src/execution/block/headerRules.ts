import { DecodeError } from '../../lib/errors.ts'
import { fromHex, type Hex } from '../../lib/hex.ts'
import {
  type BaseFeeConstants,
  decodeEip1559Params,
  decodeExtraData,
  EMPTY_REQUESTS_HASH,
  EMPTY_TRIE_ROOT,
  EMPTY_UNCLES_HASH,
  encodeExtraData,
  nextBaseFee,
  orderedTrieRoot,
} from '../../rollup/protocol/index.ts'
import type { BlockHeader as ConsensusHeader } from '../../rollup/protocol/payload/blockHeader.ts'
import { type PayloadAttributes, ZERO_HASH } from '../../rollup/protocol/types.ts'
import { sealHeader } from '../chain/storage/headerCodec.ts'
import type { ChainConfig } from '../config/chainConfig.ts'
import { rulesAt } from '../config/chainConfig.ts'
import { ChainError } from '../errors.ts'
import type { BlockContext } from '../evm/message.ts'
import type { BlockHeader, Transaction } from '../primitives/block.ts'
import type { CommittedBlock, ExecutionResult } from './blockExecution.ts'

export function baseFeeConstantsOf(config: ChainConfig): BaseFeeConstants {
  return {
    elasticity: Number(config.eip1559Elasticity),
    denominator: Number(config.eip1559Denominator),
    denominatorCanyon: Number(config.eip1559DenominatorCanyon),
  }
}

/** Base fee of a child of `parent` (specs: exec-engine, "Dynamic EIP-1559 parameters"). */
export function childBaseFee(config: ChainConfig, parent: BlockHeader, timestamp: number): bigint {
  return nextBaseFee({ forks: config.forks }, parent, timestamp, baseFeeConstantsOf(config))
}

/**
 * extraData of a block built from these attributes. Throws ChainError `invalid-attributes` if the EIP-1559 parameters
 * do not fit the fork.
 */
export function extraDataOf(attributes: PayloadAttributes, config: ChainConfig): Hex {
  const rules = rulesAt(config, attributes.timestamp)
  const { eip1559Params, minBaseFee } = attributes
  if (!rules.holocene) {
    if (eip1559Params !== undefined) throw invalidAttributes('eip155Params not supported prior to Holocene upgrade')
    return '0x'
  }
  if (eip1559Params === undefined || fromHex(eip1559Params).length !== 8) {
    const length = eip1559Params === undefined ? 0 : fromHex(eip1559Params).length
    throw invalidAttributes(`holocene eip-1559 params should be 8 bytes, got ${length}`)
  }
  const given = decodeEip1559Params(eip1559Params)
  if (given.denominator === 0 && given.elasticity !== 0) {
    throw invalidAttributes('holocene params cannot have a 0 denominator unless elasticity is also 0')
  }
  if (rules.jovian !== (minBaseFee !== undefined)) {
    throw invalidAttributes(
      rules.jovian ? 'minBaseFee is required from Jovian on' : 'minBaseFee not supported prior to Jovian upgrade',
    )
  }
  // If both are zero, the chain's constants are used.
  const params =
    given.denominator === 0
      ? { denominator: Number(config.eip1559DenominatorCanyon), elasticity: Number(config.eip1559Elasticity) }
      : given
  return encodeExtraData(minBaseFee === undefined ? params : { ...params, minBaseFee })
}

/** The header of a block that was executed here. */
export function headerOf(
  block: BlockContext,
  result: Omit<CommittedBlock, 'changes'> & Pick<ExecutionResult, 'gasUsed' | 'daFootprint'>,
  rest: {
    parentHash: Hex
    parentBeaconBlockRoot: Hex | undefined
    extraData: Hex
    transactions: readonly Pick<Transaction, 'raw'>[]
  },
): BlockHeader {
  const { rules } = block
  const header: ConsensusHeader = {
    parentHash: rest.parentHash,
    unclesHash: EMPTY_UNCLES_HASH,
    coinbase: block.coinbase,
    stateRoot: result.stateRoot,
    transactionsRoot: orderedTrieRoot(rest.transactions.map(({ raw }) => raw)),
    receiptsRoot: result.receiptsRoot,
    logsBloom: result.logsBloom,
    difficulty: 0n,
    number: block.number,
    gasLimit: block.gasLimit,
    gasUsed: result.gasUsed,
    timestamp: block.timestamp,
    extraData: rest.extraData,
    mixHash: block.prevRandao,
    nonce: '0x0000000000000000',
    baseFeePerGas: block.baseFee,
  }
  if (rules.canyon) header.withdrawalsRoot = result.withdrawalsRoot ?? EMPTY_TRIE_ROOT
  if (rules.ecotone) {
    header.blobGasUsed = result.daFootprint
    header.excessBlobGas = 0n
    header.parentBeaconBlockRoot = rest.parentBeaconBlockRoot ?? ZERO_HASH
  }
  if (rules.isthmus) header.requestsHash = EMPTY_REQUESTS_HASH
  return sealHeader(header)
}

/**
 * Checks a header against its parent (specs: exec-engine; op-geth: consensus/beacon, eip1559). Throws ChainError
 * `invalid-block`.
 */
export function checkHeader(header: BlockHeader, parent: BlockHeader, config: ChainConfig): void {
  const rules = rulesAt(config, header.timestamp)
  if (header.number !== parent.number + 1)
    throw invalid(`invalid block number: have ${header.number}, parent ${parent.number}`)
  if (header.timestamp <= parent.timestamp) throw invalid('invalid timestamp')
  if (header.gasLimit > MAX_GAS_LIMIT) throw invalid(`invalid gasLimit: have ${header.gasLimit}, max ${MAX_GAS_LIMIT}`)
  if (header.gasUsed > header.gasLimit)
    throw invalid(`invalid gasUsed: have ${header.gasUsed}, gasLimit ${header.gasLimit}`)
  if (rules.holocene) {
    try {
      decodeExtraData(header.extraData, rules.jovian ? 'jovian' : 'holocene')
    } catch (error) {
      if (error instanceof DecodeError) throw invalid(error.message)
      throw error
    }
  } else if (fromHex(header.extraData).length > 32) throw invalid(`extra-data longer than 32 bytes`)
  const baseFee = childBaseFee(config, parent, header.timestamp)
  if (header.baseFeePerGas !== baseFee) {
    throw invalid(
      `invalid baseFee: have ${header.baseFeePerGas}, want ${baseFee}, parentBaseFee ${parent.baseFeePerGas}, parentGasUsed ${parent.gasUsed}`,
    )
  }
  checkForkMembers(header, rules)
}

/** geth: params.MaxGasLimit. */
const MAX_GAS_LIMIT = 2n ** 63n - 1n

function checkForkMembers(header: BlockHeader, rules: ReturnType<typeof rulesAt>): void {
  const { withdrawalsRoot, blobGasUsed, excessBlobGas, parentBeaconBlockRoot, requestsHash } = header
  const demand = (present: boolean, wanted: boolean, name: string) => {
    if (present !== wanted) throw invalid(wanted ? `header is missing ${name}` : `unexpected ${name} in header`)
  }
  demand(withdrawalsRoot !== undefined, rules.canyon, 'withdrawalsRoot')
  if (rules.canyon && !rules.isthmus && withdrawalsRoot !== EMPTY_TRIE_ROOT) throw invalid('invalid withdrawals hash')
  demand(blobGasUsed !== undefined, rules.ecotone, 'blobGasUsed')
  demand(excessBlobGas !== undefined, rules.ecotone, 'excessBlobGas')
  demand(parentBeaconBlockRoot !== undefined, rules.ecotone, 'beaconRoot')
  if (rules.ecotone && excessBlobGas !== 0n) throw invalid(`invalid excessBlobGas: have ${excessBlobGas}, want 0`)
  if (rules.ecotone && !rules.jovian && blobGasUsed !== 0n)
    throw invalid(`invalid blobGasUsed: have ${blobGasUsed}, want 0`)
  // Specs, jovian/exec-engine: the gas limit also limits the DA footprint.
  if (rules.jovian && blobGasUsed !== undefined && blobGasUsed > header.gasLimit) {
    throw invalid(`DA footprint ${blobGasUsed} exceeds the gas limit ${header.gasLimit}`)
  }
  demand(requestsHash !== undefined, rules.isthmus, 'requestsHash')
  if (rules.isthmus && requestsHash !== EMPTY_REQUESTS_HASH) throw invalid('invalid requests hash')
}

/** Compares the header with the result of the execution, in geth's order. Throws ChainError `invalid-block`. */
export function checkExecution(header: BlockHeader, result: ExecutionResult): void {
  const compare = (name: string, remote: unknown, local: unknown) => {
    if (remote !== local) throw invalid(`invalid ${name} (remote: ${remote} local: ${local})`)
  }
  compare('gas used', header.gasUsed, result.gasUsed)
  compare('bloom', header.logsBloom, result.logsBloom)
  compare('receipt root hash', header.receiptsRoot, result.receiptsRoot)
  if (result.withdrawalsRoot !== undefined) compare('withdrawals root', header.withdrawalsRoot, result.withdrawalsRoot)
  if (header.blobGasUsed !== undefined) compare('DA footprint', header.blobGasUsed, result.daFootprint)
  compare('merkle root', header.stateRoot, result.stateRoot)
}

function invalid(message: string): ChainError {
  return new ChainError('invalid-block', message)
}

function invalidAttributes(message: string): ChainError {
  return new ChainError('invalid-attributes', message)
}
