/**
 * Whether blocks built here refund accesses that they warmed for their own transactions (Lagoon). A flag sets it, and
 * the operator may change it by RPC. A restart returns to the flag, as in op-reth.
 */
export interface SdmOptIn {
  isOn: boolean
}
