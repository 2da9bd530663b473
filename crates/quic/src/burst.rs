//! What leaves in one system call, and the way datagrams came.
