import type { Rules } from '../../config/chainConfig.ts'
import { CREATE_GAS } from './gas.ts'

/** Stack effect and constant price of each opcode under some rules. */
export interface OpcodeTable {
  /** −1: no such opcode. */
  gas: Int32Array
  /** Words taken from the stack. */
  takes: Uint8Array
  /** Change of the stack height. */
  delta: Int8Array
}

/**
 * The name is geth's (core/vm/opcodes.go). Without a fork, the opcode is on every OP chain. Canyon: EIP-3855. Ecotone:
 * EIP-1153, EIP-4844, EIP-5656, EIP-7516. Karst: EIP-7939.
 */
type Opcode = readonly [
  opcode: number,
  name: string,
  gas: number,
  takes: number,
  gives: number,
  since?: 'canyon' | 'ecotone' | 'karst',
]

const OPCODES: readonly Opcode[] = [
  [0x00, 'STOP', 0, 0, 0],
  [0x01, 'ADD', 3, 2, 1],
  [0x02, 'MUL', 5, 2, 1],
  [0x03, 'SUB', 3, 2, 1],
  [0x04, 'DIV', 5, 2, 1],
  [0x05, 'SDIV', 5, 2, 1],
  [0x06, 'MOD', 5, 2, 1],
  [0x07, 'SMOD', 5, 2, 1],
  [0x08, 'ADDMOD', 8, 3, 1],
  [0x09, 'MULMOD', 8, 3, 1],
  [0x0a, 'EXP', 10, 2, 1],
  [0x0b, 'SIGNEXTEND', 5, 2, 1],
  [0x10, 'LT', 3, 2, 1],
  [0x11, 'GT', 3, 2, 1],
  [0x12, 'SLT', 3, 2, 1],
  [0x13, 'SGT', 3, 2, 1],
  [0x14, 'EQ', 3, 2, 1],
  [0x15, 'ISZERO', 3, 1, 1],
  [0x16, 'AND', 3, 2, 1],
  [0x17, 'OR', 3, 2, 1],
  [0x18, 'XOR', 3, 2, 1],
  [0x19, 'NOT', 3, 1, 1],
  [0x1a, 'BYTE', 3, 2, 1],
  [0x1b, 'SHL', 3, 2, 1],
  [0x1c, 'SHR', 3, 2, 1],
  [0x1d, 'SAR', 3, 2, 1],
  [0x1e, 'CLZ', 5, 1, 1, 'karst'],
  [0x20, 'KECCAK256', 30, 2, 1],
  [0x30, 'ADDRESS', 2, 0, 1],
  [0x31, 'BALANCE', 0, 1, 1],
  [0x32, 'ORIGIN', 2, 0, 1],
  [0x33, 'CALLER', 2, 0, 1],
  [0x34, 'CALLVALUE', 2, 0, 1],
  [0x35, 'CALLDATALOAD', 3, 1, 1],
  [0x36, 'CALLDATASIZE', 2, 0, 1],
  [0x37, 'CALLDATACOPY', 3, 3, 0],
  [0x38, 'CODESIZE', 2, 0, 1],
  [0x39, 'CODECOPY', 3, 3, 0],
  [0x3a, 'GASPRICE', 2, 0, 1],
  [0x3b, 'EXTCODESIZE', 0, 1, 1],
  [0x3c, 'EXTCODECOPY', 0, 4, 0],
  [0x3d, 'RETURNDATASIZE', 2, 0, 1],
  [0x3e, 'RETURNDATACOPY', 3, 3, 0],
  [0x3f, 'EXTCODEHASH', 0, 1, 1],
  [0x40, 'BLOCKHASH', 20, 1, 1],
  [0x41, 'COINBASE', 2, 0, 1],
  [0x42, 'TIMESTAMP', 2, 0, 1],
  [0x43, 'NUMBER', 2, 0, 1],
  [0x44, 'DIFFICULTY', 2, 0, 1],
  [0x45, 'GASLIMIT', 2, 0, 1],
  [0x46, 'CHAINID', 2, 0, 1],
  [0x47, 'SELFBALANCE', 5, 0, 1],
  [0x48, 'BASEFEE', 2, 0, 1],
  [0x49, 'BLOBHASH', 3, 1, 1, 'ecotone'],
  [0x4a, 'BLOBBASEFEE', 2, 0, 1, 'ecotone'],
  [0x50, 'POP', 2, 1, 0],
  [0x51, 'MLOAD', 3, 1, 1],
  [0x52, 'MSTORE', 3, 2, 0],
  [0x53, 'MSTORE8', 3, 2, 0],
  [0x54, 'SLOAD', 0, 1, 1],
  [0x55, 'SSTORE', 0, 2, 0],
  [0x56, 'JUMP', 8, 1, 0],
  [0x57, 'JUMPI', 10, 2, 0],
  [0x58, 'PC', 2, 0, 1],
  [0x59, 'MSIZE', 2, 0, 1],
  [0x5a, 'GAS', 2, 0, 1],
  [0x5b, 'JUMPDEST', 1, 0, 0],
  [0x5c, 'TLOAD', 100, 1, 1, 'ecotone'],
  [0x5d, 'TSTORE', 100, 2, 0, 'ecotone'],
  [0x5e, 'MCOPY', 3, 3, 0, 'ecotone'],
  [0x5f, 'PUSH0', 2, 0, 1, 'canyon'],
  ...Array.from({ length: 32 }, (_, n): Opcode => [0x60 + n, `PUSH${n + 1}`, 3, 0, 1]),
  ...Array.from({ length: 16 }, (_, n): Opcode => [0x80 + n, `DUP${n + 1}`, 3, n + 1, n + 2]),
  ...Array.from({ length: 16 }, (_, n): Opcode => [0x90 + n, `SWAP${n + 1}`, 3, n + 2, n + 2]),
  ...Array.from({ length: 5 }, (_, n): Opcode => [0xa0 + n, `LOG${n}`, 375 * (n + 1), n + 2, 0]),
  [0xf0, 'CREATE', CREATE_GAS, 3, 1],
  [0xf1, 'CALL', 0, 7, 1],
  [0xf2, 'CALLCODE', 0, 7, 1],
  [0xf3, 'RETURN', 0, 2, 0],
  [0xf4, 'DELEGATECALL', 0, 6, 1],
  [0xf5, 'CREATE2', CREATE_GAS, 4, 1],
  [0xfa, 'STATICCALL', 0, 6, 1],
  [0xfd, 'REVERT', 0, 2, 0],
  [0xfe, 'INVALID', -1, 0, 0],
  [0xff, 'SELFDESTRUCT', 5_000, 1, 0],
]

export function opcodeTable(rules: Pick<Rules, 'canyon' | 'ecotone' | 'karst'>): OpcodeTable {
  const table: OpcodeTable = {
    gas: new Int32Array(256).fill(-1),
    takes: new Uint8Array(256),
    delta: new Int8Array(256),
  }
  for (const [opcode, , gas, takes, gives, since] of OPCODES) {
    if (since !== undefined && !rules[since]) continue
    table.gas[opcode] = gas
    table.takes[opcode] = takes
    table.delta[opcode] = gives - takes
  }
  return table
}

const NAMES = new Map(OPCODES.map(([opcode, name]) => [opcode, name]))

export function opcodeName(opcode: number): string {
  return NAMES.get(opcode) ?? `opcode 0x${opcode.toString(16)} not defined`
}
