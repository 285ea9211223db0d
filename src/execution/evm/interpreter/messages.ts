import { EMPTY_BYTES, equalBytes } from '../../../lib/bytes.ts'
import type { Hex } from '../../../lib/hex.ts'
import { type AccountRecord, EMPTY_CODE_HASH, EMPTY_STORAGE_ROOT, isEmptyAccount } from '../../state/account.ts'
import { callPrecompile, type Precompile, type PrecompileResult } from '../precompiles/precompile.ts'
import {
  type Caller,
  type CallInput,
  type CreateInput,
  delegateOf,
  runCallOpcode,
  tracedCall,
  tracedCreation,
} from './calls.ts'
import { programOf } from './code.ts'
import { failureText, REVERTED, TEXTS } from './failures.ts'
import type { Start } from './frame.ts'
import { type Failure, Frame, type FrameEnd, type FrameInput } from './frame.ts'
import { FrameBuffers } from './frameBuffers.ts'
import type { Host } from './host.ts'
import { runLoop } from './loop.ts'
import type { Mark } from './substate.ts'
import { toWord, type Word } from './word.ts'

/** Outcome of a message, without the gas that its frames returned. */
export interface Outcome {
  gasLeft: number
  output: Uint8Array
  /** Undefined on success. geth's message. */
  failure?: string
}

/** The frame that receives the outcome of a call or creation. */
type Receiver =
  | { parent: Frame | undefined; outputOffset: Word; outputSize: Word }
  | { parent: Frame | undefined; createdAddress: Hex }

/** EIP-170. */
const MAX_CODE_BYTES = 24_576
/** Yellow Paper appendix G: for each byte of deployed code. */
const CODE_BYTE_GAS = 200
/**
 * Work of one or two milliseconds, after which the run yields to the event loop: calls, gas of the slowest precompiles,
 * or bytes of init code, which is hashed and analysed.
 */
const SLICE = { calls: 64, precompileGas: 30_000, initCodeBytes: 98_304 }

/** Runs messages: nested frames on one state. */
export class Messages implements Caller {
  readonly host: Host
  private readonly precompiles: ReadonlyMap<Hex, Precompile>
  private readonly yieldToLoop: () => Promise<void>
  /** Part of a slice that was used since the last yield. */
  private done = 0
  /** Outcome of the outermost message, once it has ended. */
  private outcome: Outcome | undefined

  constructor(host: Host, precompiles: ReadonlyMap<Hex, Precompile>, yieldToLoop: () => Promise<void>) {
    this.host = host
    this.precompiles = precompiles
    this.yieldToLoop = yieldToLoop
  }

  async run(start: Start): Promise<Outcome> {
    const first = start instanceof Promise ? await start : start
    if (first !== undefined) await this.runFrames(first)
    if (this.outcome === undefined) throw new Error('a message ended without an outcome')
    return this.outcome
  }

  private async runFrames(first: Frame): Promise<void> {
    let frame = first
    for (;;) {
      let exit = runLoop(frame, this.host)
      if (exit === 'yield') {
        await this.yieldToLoop()
        continue
      }
      if (exit === 'call') {
        this.done += 1 / SLICE.calls
        if (this.done >= 1) {
          this.done = 0
          await this.yieldToLoop()
        }
        const next = runCallOpcode(frame, this)
        if (next === undefined) continue
        if (next instanceof Frame) {
          frame = next
          continue
        }
        if (next instanceof Promise) {
          await next
          continue
        }
        exit = next
      }
      const end = this.endOf(frame, exit)
      if (end !== 'done') while (!this.host.substate.revertSome(frame.mark)) await this.yieldToLoop()
      this.leave(frame, end)
      if (frame.parent === undefined) return
      frame = frame.parent
    }
  }

  /** Transfers the value and starts the code. */
  call(call: CallInput): Start {
    const { world, substate, tracer } = this.host
    tracer?.onEnter?.(tracedCall(call))
    const precompile = this.precompiles.get(call.codeAddress)
    if (precompile !== undefined) {
      const mark = substate.mark()
      world.checkpoint()
      this.transfer(call)
      const result = callPrecompile(precompile, call.data, call.gas, this.yieldToLoop)
      if (result instanceof Promise) return result.then((late) => this.endPrecompile(call, mark, late))
      this.done += (result?.gasUsed ?? call.gas) / SLICE.precompileGas
      return this.endPrecompile(call, mark, result)
    }
    const code = world.code(delegateOf(this.host, call.codeAddress) ?? call.codeAddress)
    if (code.length > 0) {
      return this.enter({ ...call, program: programOf(code), isCreation: false }, () => this.transfer(call))
    }
    this.transfer(call)
    return this.complete(call, call.gas, EMPTY_BYTES)
  }

  /** Creates the account and starts its init code. */
  create(input: CreateInput): Start {
    const { creator, initCode, kind: _, ...creation } = input
    const { world, substate, tracer } = this.host
    tracer?.onEnter?.(tracedCreation(input))
    const { address, value, parent } = creation
    // Stays warm even if the creation fails (EIP-2929).
    substate.warmAddress(address)
    if (isTaken(world.account(address))) {
      return this.complete({ parent, createdAddress: address }, 0, EMPTY_BYTES, TEXTS.COLLISION)
    }
    this.done += initCode.length / SLICE.initCodeBytes
    const program = programOf(initCode)
    const nothing = { data: EMPTY_BYTES, isStatic: false, outputOffset: 0, outputSize: 0 }
    return this.enter({ ...creation, ...nothing, caller: creator, program, isCreation: true }, () => {
      substate.noteCreated(address)
      world.setNonce(address, 1n)
      this.transfer({ address, caller: creator, transfer: BigInt(value) })
    })
  }

  /** `begin` is reverted if the frame fails. */
  private enter(input: Omit<FrameInput, 'mark'>, begin: () => void): Frame {
    const mark = this.host.substate.mark()
    this.host.world.checkpoint()
    begin()
    return new Frame({ ...input, mark }, FrameBuffers.take())
  }

  private endOf(frame: Frame, exit: FrameEnd): FrameEnd {
    this.host.tracer?.onEnd?.(frame)
    return exit === 'done' && frame.isCreation ? this.putDownCode(frame) : exit
  }

  private leave(frame: Frame, end: FrameEnd): void {
    this.keepOrUndo(end === 'done', frame.mark)
    const to = frame.isCreation ? { parent: frame.parent, createdAddress: frame.address } : frame
    if (end === 'failed') this.complete(to, 0, EMPTY_BYTES, failureText(frame, this.host.table))
    else if (end === 'reverted') this.complete(to, frame.gas, frame.output, REVERTED)
    else this.complete(to, frame.gas, frame.output)
    frame.buffers.release(frame)
  }

  /** Deploys the output of the init code, if it is valid. */
  private putDownCode(frame: Frame): FrameEnd {
    const { output } = frame
    const gas = CODE_BYTE_GAS * output.length
    let failure: Failure | undefined
    if (output.length > MAX_CODE_BYTES) failure = 'CODE_SIZE'
    // EIP-3541
    else if (output[0] === 0xef) failure = 'CODE_START'
    else if (gas > frame.gas) failure = 'CODE_STORE_OUT_OF_GAS'
    if (failure !== undefined) {
      frame.failure = failure
      return 'failed'
    }
    frame.gas -= gas
    if (output.length > 0) this.host.world.putCode(frame.address, output)
    return 'done'
  }

  private endPrecompile(call: CallInput, mark: Mark, result: PrecompileResult): undefined {
    this.keepOrUndo(result !== undefined, mark)
    if (result === undefined) return this.complete(call, 0, EMPTY_BYTES, TEXTS.OUT_OF_GAS)
    return this.complete(call, call.gas - result.gasUsed, result.output)
  }

  private keepOrUndo(isKept: boolean, mark: Mark): void {
    const { world, substate } = this.host
    if (isKept) world.commitCheckpoint()
    else {
      world.revertCheckpoint()
      substate.revertTo(mark)
    }
  }

  /**
   * Even a transfer of zero touches the recipient. An empty recipient is deleted at the end of the transaction
   * (EIP-161).
   */
  private transfer({ caller, address, transfer }: Pick<CallInput, 'caller' | 'address' | 'transfer'>): void {
    const { world } = this.host
    if (transfer === undefined) return
    if (transfer > 0n) {
      world.addBalance(caller, -transfer)
      world.addBalance(address, transfer)
      return
    }
    const record = world.account(address)
    if (record !== undefined && isEmptyAccount(record)) world.putAccount(address, record)
  }

  private complete(to: Receiver, gasLeft: number, output: Uint8Array, failure?: string): undefined {
    const { parent } = to
    this.host.tracer?.onExit?.({ gasLeft, output, failure })
    if (parent === undefined) {
      this.outcome = { gasLeft, output, ...(failure === undefined ? {} : { failure }) }
      return
    }
    parent.gas += gasLeft
    const succeeded = failure === undefined
    if ('createdAddress' in to) {
      // A creation returns data only if it reverts.
      parent.returned = succeeded ? EMPTY_BYTES : output
      parent.push(succeeded ? toWord(BigInt(to.createdAddress)) : 0)
      return
    }
    parent.returned = output
    parent.copy(to.outputOffset, output, 0, output.length < to.outputSize ? output.length : to.outputSize)
    parent.push(succeeded ? 1 : 0)
  }
}

/** EIP-684, EIP-7610. */
function isTaken(record: AccountRecord | undefined): boolean {
  if (record === undefined) return false
  const { nonce, codeHash, storageRoot } = record
  return nonce > 0n || !equalBytes(codeHash, EMPTY_CODE_HASH) || !equalBytes(storageRoot, EMPTY_STORAGE_ROOT)
}
