import { EVM, EVMError, type EVMOpts, type EVMResult, type ExecResult, type Message } from '@ethereumjs/evm'
import { Address } from '@ethereumjs/util'
import { fromHex, type Hex, toHex } from '../../../lib/hex.ts'
import { takeTurn } from '../../../lib/turns.ts'
import type { Rules } from '../../chain/chainConfig.ts'
import type { WorldState } from '../../state/worldState.ts'
import type { AncestorHash } from '../opEvm.ts'
import { type Effects, runCallOpcode } from './calls.ts'
import { programOf } from './code.ts'
import { Frame, type FrameEnd } from './frame.ts'
import { type OpcodeTable, opcodeTable } from './gas.ts'
import type { Host } from './host.ts'
import { failureDetail, MAX_STACK, runLoop } from './loop.ts'
import { bytesToWord, toWord, type Word, wordToBytes } from './word.ts'

/** Where the opcode loop finds what EthereumJS reads through promises. */
export interface FastEvmModules {
  world: () => WorldState
  ancestorHash: AncestorHash
  rules: Rules
  chainId: bigint
}

/**
 * EthereumJS's EVM with an opcode loop of its own: synchronous, on small words where it can be, giving the event loop
 * its turns. Messages (value transfers, checkpoints, precompiles, contract creation) stay with EthereumJS; so does
 * code with more gas than a number counts.
 */
export class FastEvm extends EVM {
  /** Leaves all code to EthereumJS's loop: the reference that tests compare with. */
  usesReferenceLoop = false
  /** Why the last message failed, where there is more to say than its error does. */
  failureText: string | undefined
  /** Told of each opcode that is about to run, in the messages that begin after this is set. */
  onStep: ((frame: Frame) => void) | undefined
  /** Set where only an answer to a client comes of the execution: blocks go first, and it ends with its client. */
  client: AbortSignal | undefined
  private readonly modules: FastEvmModules
  private readonly table: OpcodeTable
  private readonly stacks: Word[][] = []
  private host: Host | undefined
  /** Of the creation that has just failed, on its way past EthereumJS. */
  private revertData: Uint8Array | undefined

  constructor(modules: FastEvmModules, options: EVMOpts) {
    super(options)
    this.modules = modules
    this.table = opcodeTable(modules.rules)
  }

  /**
   * EthereumJS refuses code that begins with 0xef (EIP-3541) also when the creation has failed and the bytes are its
   * revert data, which would then cost all gas: such data is kept from it.
   */
  protected override async _executeCreate(message: Message): Promise<EVMResult> {
    const result = await super._executeCreate(message)
    if (this.revertData !== undefined) result.execResult.returnValue = this.revertData
    this.revertData = undefined
    return result
  }

  protected override async runInterpreter(
    message: Message,
    options: Parameters<EVM['runInterpreter']>[1] = {},
  ): Promise<ExecResult> {
    const result = await this.interpret(message, options)
    if (message.isCreate !== true || result.exceptionError === undefined || result.returnValue[0] !== 0xef)
      return result
    this.revertData = result.returnValue
    return { ...result, returnValue: new Uint8Array(0) }
  }

  private async interpret(message: Message, options: Parameters<EVM['runInterpreter']>[1] = {}): Promise<ExecResult> {
    const { code, to, gasLimit } = message
    // Whichever loop runs it, the calls within see this message's block and state.
    if (message.depth === 0) this.host = undefined
    if (
      this.usesReferenceLoop ||
      !(code instanceof Uint8Array) ||
      to === undefined ||
      gasLimit > Number.MAX_SAFE_INTEGER
    ) {
      return super.runInterpreter(message, options)
    }
    this.host ??= this.createHost(message)
    const { host } = this
    const frame = new Frame(
      {
        program: programOf(code),
        address: to.bytes,
        caller: toHex(message.caller.bytes),
        value: toWord(message.value),
        data: message.data,
        gas: Number(gasLimit),
        gasRefund: Number(message.gasRefund ?? 0n),
        isStatic: message.isStatic ?? false,
        depth: message.depth,
      },
      toHex(to.bytes),
      this.stackAt(message.depth),
    )
    const effects: Effects = {
      selfdestruct: message.selfdestruct ?? new Map(),
      createdAddresses: message.createdAddresses ?? new Set(),
    }
    const end = await this.runFrame(frame, host, effects)
    if (message.depth === 0) this.failureText = end === 'failed' ? failureDetail(frame, host.table) : undefined
    return resultOf(frame, Number(gasLimit), end, effects)
  }

  /** One stack a depth is enough: frames of the same depth follow each other. */
  stackAt(depth: number): Word[] {
    let stack = this.stacks[depth]
    if (stack === undefined) {
      stack = new Array<Word>(MAX_STACK).fill(0)
      this.stacks[depth] = stack
    }
    return stack
  }

  /** Runs the frame to its end. */
  async runFrame(frame: Frame, host: Host, effects: Effects): Promise<FrameEnd> {
    for (;;) {
      const exit = runLoop(frame, host)
      if (exit === 'turn') await this.takeTurn()
      else if (exit === 'call') {
        const next = await runCallOpcode(frame, { evm: this, host, effects })
        if (next !== 'continue') return next
      } else return exit
    }
  }

  /** Gives the event loop its turn. Throws the reason when nobody waits for the outcome any more. */
  async takeTurn(): Promise<void> {
    await takeTurn(this.client === undefined ? 'block' : 'answer')
    this.client?.throwIfAborted()
  }

  /** Calls the precompile at the address; undefined when there is none. */
  callPrecompile(address: Hex, data: Uint8Array, gas: number): Promise<ExecResult> | ExecResult | undefined {
    const precompile = this.precompiles.get(address.slice(2))
    return precompile === undefined ? undefined : this.runPrecompile(precompile, data, BigInt(gas))
  }

  private createHost(message: Message): Host {
    const { ancestorHash, chainId, rules, world } = this.modules
    const header = this._block?.header
    if (header === undefined) throw new Error('EVM used without a block')
    const number = Number(header.number)
    const { journal, transientStorage } = this
    return {
      world: world(),
      table: this.table,
      onStep: this.onStep,
      origin: bytesToWord((this._tx?.origin ?? message.caller).bytes),
      gasPrice: toWord(this._tx?.gasPrice ?? 0n),
      coinbase: bytesToWord(header.coinbase.bytes),
      timestamp: toWord(header.timestamp),
      number,
      prevRandao: bytesToWord(header.prevRandao),
      gasLimit: toWord(header.gasLimit),
      baseFee: toWord(header.baseFeePerGas ?? 0n),
      chainId: toWord(chainId),
      limitsInitCode: rules.canyon,
      keepsContracts: rules.ecotone,
      followsDelegations: rules.isthmus,
      blockHash(wanted) {
        if (typeof wanted === 'bigint' || wanted >= number || wanted < number - 256) return 0
        const hash = ancestorHash(wanted)
        if (hash === undefined) throw new Error(`hash of ancestor ${wanted} is not known`)
        return bytesToWord(fromHex(hash))
      },
      isColdAddress(frame, word, address) {
        frame.warmAddresses ??= new Set()
        if (frame.warmAddresses.has(word)) return false
        frame.warmAddresses.add(word)
        const bytes = fromHex(address)
        if (journal.isWarmedAddress(bytes)) return false
        journal.addWarmedAddress(bytes)
        return true
      },
      isColdSlot(frame, word) {
        frame.warmSlots ??= new Set()
        if (frame.warmSlots.has(word)) return false
        frame.warmSlots.add(word)
        const slot = wordToBytes(word)
        if (journal.isWarmedStorage(frame.address, slot)) return false
        journal.addWarmedStorage(frame.address, slot)
        return true
      },
      transientLoad: (frame, slot) => bytesToWord(transientStorage.get(new Address(frame.address), wordToBytes(slot))),
      transientStore: (frame, slot, value) =>
        transientStorage.put(new Address(frame.address), wordToBytes(slot), wordToBytes(value)),
    }
  }
}

function resultOf(
  frame: Frame,
  gasLimit: number,
  end: FrameEnd,
  { selfdestruct, createdAddresses }: Effects,
): ExecResult {
  if (end === 'done') {
    return {
      returnValue: frame.output,
      executionGasUsed: BigInt(gasLimit - frame.gas),
      gas: BigInt(frame.gas),
      gasRefund: BigInt(frame.gasRefund),
      logs: frame.logs,
      selfdestruct,
      createdAddresses,
    }
  }
  const isRevert = end === 'reverted'
  const error = EVMError.errorMessages[isRevert ? 'REVERT' : (frame.failure ?? 'OUT_OF_GAS')]
  return {
    returnValue: isRevert ? frame.output : new Uint8Array(0),
    executionGasUsed: BigInt(isRevert ? gasLimit - frame.gas : gasLimit),
    gasRefund: BigInt(frame.gasRefund),
    exceptionError: new EVMError(error),
    logs: [],
    selfdestruct: new Map(),
    createdAddresses: new Set(),
  }
}
