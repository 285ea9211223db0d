import type { Hex } from '../../lib/hex.ts'
import type { ChainConfig } from '../config/chainConfig.ts'
import { type Rules, rulesAt } from '../config/chainConfig.ts'
import type { BlockHeader } from '../primitives/block.ts'
import type { WorldState } from '../state/worldState.ts'
import type { BlockContext } from './message.ts'
import { OpEvm } from './opEvm.ts'
import type { Environment } from './runMessage.ts'

export interface Lease extends Disposable {
  env: Environment
}

/** Reads headers of ancestors for BLOCKHASH. */
export interface Ancestry {
  header(hash: Hex): BlockHeader | undefined
  canonicalHeader(number: number): BlockHeader | undefined
  isCanonical(header: Pick<BlockHeader, 'hash' | 'number'>): boolean
}

/**
 * Lends EVMs. Creating an EVM takes a millisecond, and an EVM runs one message at a time. A block under construction,
 * an import and calls run concurrently.
 */
export class EvmPool {
  private readonly config: ChainConfig
  private readonly ancestry: Ancestry
  private readonly idle = new WeakMap<Rules, OpEvm[]>()
  /** Aborts executions on EVMs that are lent from now on. */
  limit: AbortSignal | undefined

  constructor(modules: { ancestry: Ancestry }, config: ChainConfig) {
    this.ancestry = modules.ancestry
    this.config = config
  }

  /**
   * @param parentHash the block from which BLOCKHASH looks back
   * @param client set for calls: aborts when the client disconnects
   */
  lease(
    world: WorldState,
    block: Omit<BlockContext, 'chainId' | 'rules'>,
    parentHash: Hex,
    client?: AbortSignal,
  ): Lease {
    const rules = rulesAt(this.config, block.timestamp)
    const evm = this.idle.get(rules)?.pop() ?? new OpEvm(this.config.chainId, rules)
    evm.bind(world, this.ancestorHash(block.number, parentHash))
    evm.client = client
    evm.limit = this.limit
    return {
      env: { world, evm, block: { ...block, chainId: this.config.chainId, rules } },
      [Symbol.dispose]: () => {
        evm.unbind()
        // An aborted execution leaves the EVM in an undefined state.
        if (client?.aborted) return
        const list = this.idle.get(rules)
        if (list === undefined) this.idle.set(rules, [evm])
        else list.push(evm)
      },
    }
  }

  private ancestorHash(number: number, parentHash: Hex): (wanted: number) => Hex | undefined {
    const found = new Map<number, Hex>()
    const findAncestor = (wanted: number): Hex | undefined => {
      let header = this.ancestry.header(parentHash)
      while (header !== undefined && header.number > wanted) {
        if (this.ancestry.isCanonical(header)) return this.ancestry.canonicalHeader(wanted)?.hash
        header = this.ancestry.header(header.parentHash)
      }
      return header?.hash
    }
    return (wanted) => {
      if (wanted < 0 || wanted >= number || wanted < number - 256) return undefined
      const hash = found.get(wanted) ?? findAncestor(wanted)
      if (hash !== undefined) found.set(wanted, hash)
      return hash
    }
  }
}

export function contextOf(header: BlockHeader): Omit<BlockContext, 'chainId' | 'rules'> {
  return {
    number: header.number,
    timestamp: header.timestamp,
    coinbase: header.miner,
    prevRandao: header.mixHash,
    gasLimit: header.gasLimit,
    baseFee: header.baseFeePerGas,
  }
}
