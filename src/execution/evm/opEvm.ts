import { fromHex, type Hex } from '../../lib/hex.ts'
import { yieldToLoop } from '../../lib/yieldToLoop.ts'
import type { Rules } from '../config/chainConfig.ts'
import type { WorldState } from '../state/worldState.ts'
import { createAddress } from '../tx/createAddress.ts'
import type { Host } from './interpreter/host.ts'
import { Messages, type Outcome } from './interpreter/messages.ts'
import { type OpcodeTable, opcodeTable } from './interpreter/opcodeTable.ts'
import { Substate } from './interpreter/substate.ts'
import type { Tracer } from './interpreter/tracer.ts'
import { toWord, type Word } from './interpreter/word.ts'
import type { BlockContext, Message } from './message.ts'
import { precompilesUnder } from './precompiles/index.ts'
import type { Precompile } from './precompiles/precompile.ts'

/** Hash of an ancestor of the executed block. Undefined if there is no block of that number. */
export type AncestorHash = (number: number) => Hex | undefined

export type Execution = Omit<Outcome, 'gasLeft'> & { gasUsed: bigint }

/** The opcode loop counts gas as a number. No execution runs that long. */
const MAX_GAS = BigInt(Number.MAX_SAFE_INTEGER)

interface Tables {
  opcodes: OpcodeTable
  precompiles: ReadonlyMap<Hex, Precompile>
}

/** `rulesAt` returns as many objects as there are forks. */
const knownTables = new Map<Rules, Tables>()

function tablesUnder(rules: Rules): Tables {
  let tables = knownTables.get(rules)
  if (tables === undefined) {
    tables = { opcodes: opcodeTable(rules), precompiles: precompilesUnder(rules) }
    knownTables.set(rules, tables)
  }
  return tables
}

export interface OpEvmModules {
  world: WorldState
  ancestorHash: AncestorHash
}

/** The EVM of one block. It runs one message at a time. */
export class OpEvm {
  /** The precompiles of the rules, warm in each transaction. */
  readonly precompiles: ReadonlyMap<Hex, Precompile>
  /** The precompiles that a simulation left in place. */
  callable: ReadonlyMap<Hex, Precompile> | undefined
  substate = new Substate()
  /** Receives the events of later executions. */
  tracer: Tracer | undefined
  /**
   * Set if only an RPC client needs the result: such an execution yields to blocks, and ends when the client
   * disconnects.
   */
  client: AbortSignal | undefined
  /** Set if an execution for a block may be aborted. It then ends with this signal's reason. */
  limit: Pick<AbortSignal, 'throwIfAborted'> | undefined
  private readonly modules: OpEvmModules
  private readonly opcodes: OpcodeTable
  private readonly ancestorHashes = new Map<number, Word>()

  constructor(modules: OpEvmModules, rules: Rules) {
    this.modules = modules
    const { opcodes, precompiles } = tablesUnder(rules)
    this.opcodes = opcodes
    this.precompiles = precompiles
  }

  /**
   * Runs a call, or creates the contract that `nonce` determines. Changes of state and substate are applied or
   * reverted.
   */
  async run(message: Message & { nonce: bigint }, block: BlockContext): Promise<Execution> {
    const messages = new Messages(this.hostOf(message, block), this.callable ?? this.precompiles, () =>
      this.yieldToLoop(),
    )
    const { from, to, data } = message
    const gas = Number(message.gas < MAX_GAS ? message.gas : MAX_GAS)
    const value = toWord(message.value)
    const start =
      to === null
        ? messages.create({
            kind: 'CREATE',
            address: createAddress(fromHex(from), message.nonce),
            creator: from,
            value,
            initCode: data,
            gas,
            parent: undefined,
          })
        : messages.call({
            kind: 'CALL',
            codeAddress: to,
            address: to,
            caller: from,
            value,
            transfer: message.value,
            data,
            gas,
            isStatic: false,
            parent: undefined,
            outputOffset: 0,
            outputSize: 0,
          })
    const { gasLeft, ...outcome } = await messages.run(start)
    return { ...outcome, gasUsed: gasLeft === 0 ? message.gas : BigInt(gas - gasLeft) }
  }

  /** Yields to the event loop. Throws the abort reason if the client or the limit aborted. */
  async yieldToLoop(): Promise<void> {
    this.client?.throwIfAborted()
    await yieldToLoop(this.client === undefined ? 'block' : 'answer')
    this.client?.throwIfAborted()
    this.limit?.throwIfAborted()
  }

  private hostOf({ from, gasPrice }: Message, block: BlockContext): Host {
    const { number, rules } = block
    return {
      world: this.modules.world,
      substate: this.substate,
      rules,
      table: this.opcodes,
      tracer: this.tracer,
      origin: wordOf(from),
      gasPrice: toWord(gasPrice),
      coinbase: wordOf(block.coinbase),
      timestamp: block.timestamp,
      number,
      prevRandao: wordOf(block.prevRandao),
      gasLimit: toWord(block.gasLimit),
      baseFee: toWord(block.baseFee),
      // Specs, ecotone/exec-engine.
      blobBaseFee: toWord(block.blobBaseFee ?? 1n),
      chainId: toWord(block.chainId),
      blockHash: (wanted) =>
        typeof wanted === 'bigint' || wanted >= number || wanted < number - 256 ? 0 : this.hashOfAncestor(wanted),
    }
  }

  private hashOfAncestor(number: number): Word {
    let word = this.ancestorHashes.get(number)
    if (word === undefined) {
      const hash = this.modules.ancestorHash(number)
      if (hash === undefined) throw new Error(`hash of ancestor ${number} is not known`)
      word = wordOf(hash)
      this.ancestorHashes.set(number, word)
    }
    return word
  }
}

function wordOf(hex: Hex): Word {
  return toWord(BigInt(hex))
}
