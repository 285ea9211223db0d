import { EMPTY_BYTES, equalBytes } from '../../lib/bytes.ts'
import { fromHex, type Hex, toHex, toQuantity } from '../../lib/hex.ts'
import { BASE_FEE_VAULT_ADDRESS } from '../../rollup/protocol/constants.ts'
import { isDelegation } from '../evm/delegation.ts'
import type { Frame } from '../evm/interpreter/frame.ts'
import { opcodeName } from '../evm/interpreter/opcodeTable.ts'
import type { TracedMessage } from '../evm/interpreter/tracer.ts'
import { type Word, wordToAddress, wordToSlot } from '../evm/interpreter/word.ts'
import type { Environment } from '../evm/runMessage.ts'
import { storageWord } from '../evm/storageWord.ts'
import { EMPTY_CODE_HASH } from '../state/account.ts'
import { createAddress } from '../tx/createAddress.ts'
import type { AnswerBudget } from './answerBudget.ts'
import type { TracedTransaction, TransactionTracer } from './types.ts'

export interface PrestateOptions {
  diffMode: boolean
  disableCode: boolean
  disableStorage: boolean
  includeEmpty: boolean
}

interface Account {
  balance: bigint
  nonce: bigint
  code: Uint8Array
  codeHash: Uint8Array
  storage: Map<Hex, Hex>
}

interface ShownAccount {
  balance?: string
  code?: Hex
  codeHash?: Hex
  nonce?: number
  storage?: Record<Hex, Hex>
}

/** Estimated characters of an account and of a slot. With `diffMode`, they may be shown twice. */
const ACCOUNT_CHARACTERS = 250
const SLOT_CHARACTERS = 300

const ZERO_WORD: Hex = `0x${'00'.repeat(32)}`

/**
 * geth's prestateTracer: the accounts and slots that a transaction reads, with their values before it. With `diffMode`,
 * also its changes.
 */
export class PrestateTracer implements TransactionTracer {
  private readonly options: PrestateOptions
  private readonly budget: AnswerBudget
  private readonly before = new Map<Hex, Account>()
  private readonly created = new Set<Hex>()
  private readonly destroyed = new Set<Hex>()
  private env: Environment | undefined

  constructor(options: PrestateOptions, budget: AnswerBudget) {
    this.options = options
    this.budget = budget
  }

  begin(env: Environment, { from, to, authorizations }: TracedTransaction): void {
    this.env = env
    const { world, block } = env
    this.lookupAccount(from)
    if (to === null) {
      const made = createAddress(fromHex(from), world.nonce(from))
      this.lookupAccount(made)
      this.created.add(made)
    } else {
      this.lookupAccount(to)
      this.lookupDelegate(to)
    }
    this.lookupAccount(block.coinbase)
    // op-geth lists the base fee vault too.
    this.lookupAccount(BASE_FEE_VAULT_ADDRESS)
    for (const { authority } of authorizations) if (authority !== undefined) this.lookupAccount(authority)
  }

  onStep(frame: Frame): void {
    const { sp, stack, address } = frame
    const operand = (place: number): Word => stack[sp - place] ?? 0
    const opcode = opcodeName(frame.program.code[frame.pc] ?? 0)
    switch (opcode) {
      case 'SLOAD':
      case 'SSTORE':
        if (sp >= 1) this.lookupStorage(address, wordToSlot(operand(1)))
        break
      case 'EXTCODECOPY':
      case 'EXTCODEHASH':
      case 'EXTCODESIZE':
      case 'BALANCE':
      case 'SELFDESTRUCT':
        if (sp < 1) break
        this.lookupAccount(wordToAddress(operand(1)))
        if (opcode === 'SELFDESTRUCT' && (!this.env?.block.rules.ecotone || this.created.has(address))) {
          this.destroyed.add(address)
        }
        break
      case 'CALL':
      case 'CALLCODE':
      case 'DELEGATECALL':
      case 'STATICCALL': {
        if (sp < 5) break
        const target = wordToAddress(operand(2))
        this.lookupAccount(target)
        this.lookupDelegate(target)
        break
      }
    }
  }

  /** Called after CREATE and CREATE2 are paid for. At `onStep`, their offset and size are unchecked. */
  onEnter({ kind, to }: TracedMessage): void {
    if (kind !== 'CREATE' && kind !== 'CREATE2') return
    this.lookupAccount(to)
    this.created.add(to)
  }

  end(): unknown {
    if (!this.options.diffMode) {
      const shown: Record<Hex, ShownAccount> = {}
      for (const [address, account] of this.before) {
        if (isEmpty(account) && !this.options.includeEmpty) continue
        shown[address] = this.show(account, account.storage)
      }
      return shown
    }
    return this.difference()
  }

  private difference(): { pre: Record<Hex, ShownAccount>; post: Record<Hex, ShownAccount> } {
    const pre: Record<Hex, ShownAccount> = {}
    const post: Record<Hex, ShownAccount> = {}
    for (const [address, account] of this.before) {
      if (this.destroyed.has(address)) {
        if (!isEmpty(account) || this.options.includeEmpty) pre[address] = this.show(account, account.storage)
        continue
      }
      const now = this.read(address)
      const after: ShownAccount = {}
      if (now.balance !== account.balance) after.balance = toQuantity(now.balance)
      if (now.nonce !== account.nonce) after.nonce = Number(now.nonce)
      if (!equalBytes(now.codeHash, account.codeHash)) {
        if (!this.options.disableCode) after.code = this.showCode(now.code)
        if (now.code.length > 0) after.codeHash = toHex(now.codeHash)
      }
      const changed = new Map<Hex, Hex>()
      for (const [slot, value] of account.storage) {
        const newValue = this.slot(address, slot)
        if (newValue === value) continue
        if (value !== ZERO_WORD) changed.set(slot, value)
        after.storage ??= {}
        if (newValue !== ZERO_WORD) after.storage[slot] = newValue
      }
      if (Object.keys(after).length === 0) continue
      if (after.storage !== undefined && Object.keys(after.storage).length === 0) delete after.storage
      post[address] = after
      if (!isEmpty(account) || this.options.includeEmpty) pre[address] = this.show(account, changed)
    }
    return { pre, post }
  }

  private show({ balance, nonce, code, codeHash }: Account, storage: ReadonlyMap<Hex, Hex>): ShownAccount {
    return {
      balance: toQuantity(balance),
      ...(code.length > 0 && !this.options.disableCode ? { code: this.showCode(code) } : {}),
      ...(code.length > 0 ? { codeHash: toHex(codeHash) } : {}),
      ...(nonce > 0n ? { nonce: Number(nonce) } : {}),
      ...(storage.size > 0 ? { storage: Object.fromEntries(storage) } : {}),
    }
  }

  private showCode(code: Uint8Array): Hex {
    this.budget.take(2 * code.length)
    return toHex(code)
  }

  private lookupAccount(address: Hex): void {
    if (this.before.has(address)) return
    this.budget.take(ACCOUNT_CHARACTERS)
    this.before.set(address, this.read(address))
  }

  private lookupDelegate(address: Hex): void {
    const code = this.env?.world.code(address) ?? EMPTY_BYTES
    if (this.env?.block.rules.isthmus && isDelegation(code)) this.lookupAccount(toHex(code.subarray(3)))
  }

  private lookupStorage(address: Hex, slot: Hex): void {
    if (this.options.disableStorage) return
    this.lookupAccount(address)
    const storage = this.before.get(address)?.storage
    if (storage === undefined || storage.has(slot)) return
    this.budget.take(SLOT_CHARACTERS)
    storage.set(slot, this.slot(address, slot))
  }

  private slot(address: Hex, slot: Hex): Hex {
    return this.env === undefined ? ZERO_WORD : storageWord(this.env.world.storage(address, slot))
  }

  private read(address: Hex): Account {
    const record = this.env?.world.account(address)
    return {
      balance: record?.balance ?? 0n,
      nonce: record?.nonce ?? 0n,
      code: this.env?.world.code(address) ?? EMPTY_BYTES,
      codeHash: record?.codeHash ?? EMPTY_CODE_HASH,
      storage: new Map(),
    }
  }
}

function isEmpty({ balance, nonce, code }: Account): boolean {
  return balance === 0n && nonce === 0n && code.length === 0
}
