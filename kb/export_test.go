package kb

// RowsOf is rowsOf.
var RowsOf = rowsOf
