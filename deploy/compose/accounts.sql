-- For one laptop only: one password for all accounts of ../postgres/roles.sql, and the database of their owner.
ALTER ROLE savings PASSWORD 'savings';
ALTER ROLE savings_api PASSWORD 'savings';
ALTER ROLE savings_indexer PASSWORD 'savings';
ALTER ROLE savings_operator PASSWORD 'savings';
ALTER ROLE savings_read_only PASSWORD 'savings';
CREATE DATABASE savings OWNER savings;
