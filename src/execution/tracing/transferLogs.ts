import { bigIntToBytes } from '../../lib/bytes.ts'
import type { Hex } from '../../lib/hex.ts'
import type { TracedMessage, TracedOutcome, Tracer } from '../evm/interpreter/tracer.ts'
import type { Log } from '../primitives/block.ts'

/** keccak256("Transfer(address,address,uint256)"). */
const TRANSFER_TOPIC: Hex = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
/** ERC-7528: the address that stands for ether. */
const ETHER_ADDRESS: Hex = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee'

/** The logs of a simulated block's transactions as geth gives them, optionally with logs of ether transfers. */
export class TransferLogs implements Tracer {
  private readonly showsTransfers: boolean
  /** Logs of each open message. */
  private open: Log[][] = []
  private kept: Log[] = []
  /** Logs of the block so far. Reverted logs count, as in geth. */
  private count = 0

  constructor({ showsTransfers }: { showsTransfers: boolean }) {
    this.showsTransfers = showsTransfers
  }

  /** Takes the logs of the transaction that has ended. */
  take(): Log[] {
    const { kept } = this
    this.kept = []
    return kept
  }

  onEnter({ kind, from, to, value }: TracedMessage): void {
    this.open.push([])
    if (!this.showsTransfers || kind === 'DELEGATECALL' || value === undefined || value === 0n) return
    const topics = [TRANSFER_TOPIC, wordOf(from), wordOf(to)]
    this.onLog({ address: ETHER_ADDRESS, topics, data: bigIntToBytes(value, 32) })
  }

  onExit({ failure }: TracedOutcome): void {
    const logs = this.open.pop() ?? []
    if (failure !== undefined) return
    const parent = this.open.at(-1) ?? this.kept
    for (const log of logs) parent.push(log)
  }

  onLog(log: Omit<Log, 'logIndex'>): void {
    this.open.at(-1)?.push({ ...log, logIndex: this.count++ })
  }
}

function wordOf(address: Hex): Hex {
  return `0x${address.slice(2).padStart(64, '0')}`
}
